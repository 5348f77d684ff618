# What .mlt cannot say: one line with the JSON path, status 1, no output.
cd "$ML_TEST_DATA/tokenizers"
for name in bad_lower bad_dropout bad_unk l3_added_alias sp_metaspace_always; do
  rc=0; mlt-pack $name -o "$OLDPWD/out.mlt" || rc=$?
  [ $rc -eq 1 ]
done
for name in bad_o200k bad_qwen35 sp_noprefix_gemma; do
  rc=0; mlt-pack --strict $name -o "$OLDPWD/out.mlt" || rc=$?
  [ $rc -eq 1 ]
done
[ ! -e "$OLDPWD/out.mlt" ]
