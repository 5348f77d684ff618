# Each is one line that names the option and points to --help; nothing on standard output.
for arguments in '--type q' '--size x' '--size' '--threads -3' '--frob' '-Z' '--target neon'; do
  rc=0
  ml-sample $arguments || rc=$?
  [ $rc -eq 2 ]
done
