# --dry-run tells the size, and writes nothing.
mlt-pack "$ML_TEST_DATA/models/stories260K" -o a.mlt --dry-run > plan
[ ! -e a.mlt ]
mlt-pack "$ML_TEST_DATA/models/stories260K" -o a.mlt
[ "$(cat plan)" = "file: $(stat -c %s a.mlt) bytes" ]
# --json reports what the .mlt holds.
mlt-pack "$ML_TEST_DATA/models/stories260K" --json -o b.mlt > report
cmp a.mlt b.mlt
mlt-pack "$ML_TEST_DATA/models/stories260K" --json --dry-run > planned
python3 - <<'END'
import json, os, struct
header = struct.unpack("<4s4IiiI", open("b.mlt", "rb").read(32))
report, planned = (json.load(open(name)) for name in ("report", "planned"))
assert report["n_bytes"] == os.path.getsize("b.mlt") and report["output"] == "b.mlt" and not report["dry_run"], report
assert [report[key] for key in ("kind", "n_vocab", "n_merges", "bos", "eos", "flags")] == list(header[2:]), (report, header)
assert planned == {**report, "output": None, "dry_run": True}, planned
END
rc=0; mlt-pack "$ML_TEST_DATA/models/stories260K" --json > both 2> message || rc=$?
[ $rc -eq 2 ] && [ ! -s both ]
