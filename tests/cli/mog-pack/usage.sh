rc=0
mog-pack --set 'embed' recipe.json || rc=$?
[ $rc -eq 2 ]
rc=0
mog-pack --json recipe.json || rc=$?
[ $rc -eq 2 ]
# An encoding that does not exist is known before any file is read.
for set in embed=int5 =f32 '*=INT8_G33'; do
  rc=0
  mog-pack --set "$set" missing.json -o out.mog || rc=$?
  [ $rc -eq 2 ]
done
