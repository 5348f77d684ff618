rc=0
mog-pack --set 'embed' recipe.json || rc=$?
[ $rc -eq 2 ]
rc=0
mog-pack --json recipe.json || rc=$?
[ $rc -eq 2 ]
rc=0
mog-pack || rc=$?
[ $rc -eq 2 ]
