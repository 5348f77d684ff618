# What the recipes of batches/ and slurm/ share. A recipe says what it is of (kind: imatrix, eval or bench) and how it is called (usage), and
# sources this file, which takes out of "$@" what is the recipe's own business: -f in force; of an evaluation how the joined result is
# printed, in format, by_position and html. Options that parts cannot have, or that no part can answer, are refused before any work.

fail() {
  echo "${0##*/}: $1" >&2
  exit "${2:-1}"
}

fail_usage() { fail "$1; usage: ${0##*/} $usage" 2; }

need_words() { # HAVE LEAST
  [ "$1" -ge "$2" ] || { echo "usage: ${0##*/} $usage" >&2; exit 2; }
}

check_number() {
  case $1 in
  '' | 0* | *[!0-9]* | ??????????*) fail_usage "N is '$1', must be a number from 1 to 999999999" ;;
  esac
}

# A file to be written, and the words of the command: nothing is written over without -f, and no input with it.
check_output() {
  output=$1
  shift
  case $output in
  '' | -*) fail_usage "'$output' is no name for a file to be written" ;;
  esac
  [ ! -d "$output" ] || fail "$output is a folder, must be a file"
  for word in "$@"; do
    [ ! "$output" -ef "$word" ] || fail "$output is an input; it is not written over"
  done
  if [ -e "$output" ] || [ -L "$output" ]; then
    [ -n "$force" ] || fail "$output exists; -f replaces it"
  fi
  [ -d "$(dirname "$output")" ] || fail "$output: there is no folder $(dirname "$output")"
}

# The folder for the parts of a Slurm job: another job may be at work in one that is there.
check_parts() {
  if [ -e "$1" ] || [ -L "$1" ]; then
    fail "$1 is there: the job that made it has not ended, or failed, and its logs say why; remove it to begin anew"
  fi
}

# submit SBATCH-OPTION SCRIPT WORD...: the array of n shards in parts, and the job that joins them, whose number is printed.
submit() {
  option=$1
  shift
  mkdir "$parts"
  array=$(ML_STEP=shard sbatch --parsable --array="1-$n" "$option" --output="$parts/%a.log" "$@") || {
    rmdir "$parts"
    fail "sbatch took no job"
  }
  ML_STEP=join sbatch --parsable --dependency="afterok:$array" --kill-on-invalid-dep=yes --output="$parts/join.log" "$@" || {
    scancel "$array"
    fail "sbatch took the array, but not the job that joins it; the array is cancelled, $parts may be removed"
  }
}

force= format= by_position= html=
left=$#
while [ "$left" -gt 0 ]; do
  word=$1
  shift
  left=$((left - 1))
  case $kind:$word in
  eval:--format | eval:--html)
    [ "$left" -gt 0 ] || fail_usage "$word needs a value"
    word=$word=$1
    shift
    left=$((left - 1))
    ;;
  esac
  case $kind:$word in
  imatrix:-f | imatrix:--force | eval:-f | eval:--force | bench:-f | bench:--force) force=--force ;;
  imatrix:-- | eval:--) kind=operands; set -- "$@" -- ;;
  bench:--) kind=measuring; set -- "$@" -- ;;
  eval:--json) format=json ;;
  eval:--format=text | eval:--format=json | eval:--format=csv) format=${word#*=} ;;
  eval:--format=*) fail_usage "--format is '${word#*=}', must be one of text, json, csv" ;;
  eval:--by-position) by_position=$word ;;
  eval:--html=?*) html=${word#*=} ;;
  eval:--by-window*) fail_usage "--by-window needs one run: joined results have no windows" ;;
  eval:--save-logits* | eval:--shard* | eval:--merge* | eval:--partial* | eval:--dry-run* | imatrix:--imatrix* | imatrix:--shard* | imatrix:--dry-run*)
    fail_usage "${word%%=*} is not for the parts of a job" ;;
  measuring:--format* | measuring:--output* | measuring:-o* | measuring:--html*)
    fail_usage "${word%%=*} is not for the parts of a job: rows are printed as --format jsonl prints them" ;;
  *) set -- "$@" "$word" ;;
  esac
done
