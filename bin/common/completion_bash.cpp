#include "common/completion_parts.hpp"

#include <fmt/format.h>

namespace cli {

namespace {

// %N is the tool's name, %I the one of its functions, %V the options that take values, %C what those values
// may be, %P the operands, %F the flags that make them others, %O all options. Readline breaks words at '=';
// here they are whole again.
constexpr std::string_view kScript = R"(# bash completion for %N, generated from its option table
_%I_names() { # SEPARATORS NAME...: behind what the word holds up to its last separator
  local before=
  if [[ -n $1 ]]; then
    [[ $cur != *["$1"]* ]] || before=${cur%"${cur##*["$1"]}"}
    compopt -o nospace 2> /dev/null
  fi
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "${*:2}" -- "${cur#"$before"}")
}
_%I_files() { # SUFFIX...: and folders; any file where there is none of these
  local suffix
  compopt -o filenames 2> /dev/null
  if (($# > 0)); then
    mapfile -t COMPREPLY < <(compgen -d -- "$cur"; for suffix; do compgen -f -X "!*$suffix" -- "$cur"; done)
  fi
  ((${#COMPREPLY[@]} > 0)) || mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}
_%I_recipes() {
  local path program
  _%I_files .json
  program=$(type -P %N)
  [[ $cur == */* ]] || for path in "${program%/bin/*}/share/mlutils/recipes/$cur"*.json; do
    [[ ! -e $path ]] || COMPREPLY+=("$path")
  done
}
_%I() {
  local word cur glued= raw=${COMP_WORDS[COMP_CWORD]} option= left=0 value=0 operand=0 instead=
  local -a words=()
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if [[ $word == = && ${#words[@]} -gt 0 ]]; then
      if [[ ${words[-1]} == --* ]]; then words+=(''); else words[-1]+==; fi
      glued=1
    elif [[ -n $glued ]]; then
      words[-1]+=$word
      glued=
    else
      words+=("$word")
    fi
  done
  cur=${words[-1]#[\"\']}
  raw=${raw#[\"\']}
  [[ $raw != = ]] || raw=
  for word in "${words[@]:1:${#words[@]}-2}"; do
    if ((left > 0)); then
      ((left -= 1, value += 1))
      continue
    fi
    case $word in
%V%F      -*) ;;
      *) ((operand += 1)) ;;
    esac
  done
  if ((left > 0)); then
    case $option:$value in
%C    esac
  elif [[ $cur == -?* || $cur == - ]]; then
    _%I_names '' %O
  else
    case $instead:$operand in
%P    esac
  fi
  local i kept=${cur%"$raw"}
  for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"$kept"}; done
}
complete -F _%I %N
)";

std::string action(const Values& values) {
  if (!values.names.empty()) {
    const std::string call =
        fmt::format("_%I_names {} {}", quoted(values.separators), joined(values.names, " "));
    return values.after_separator ? "[[ $cur != *=* ]] || " + call : call;
  }
  if (values.recipes) return "_%I_recipes";
  return values.files ? "_%I_files " + joined(values.suffixes, " ") : ":";
}

}  // namespace

std::string bash_completion(const std::string& tool, const std::vector<OptionRow>& rows) {
  std::string takes, cases, operands, others, flags;
  std::vector<std::string> all;
  std::vector<const OptionRow*> places;
  for (const OptionRow& row : rows) {
    if (row.operand) {
      places.push_back(&row);
      continue;
    }
    const std::vector<std::string> names = dashed_names(row);
    all.insert(all.end(), names.begin(), names.end());
    if (row.operands) {
      flags += fmt::format("      {}) instead={} ;;\n", joined(names, " | "), names.back());
      others += fmt::format("      {}:*) {} ;;\n", names.back(), action(*row.operands));
    }
    if (row.values.empty()) continue;
    takes += fmt::format("      {}) option={} left={} value=0 ;;\n", joined(names, " | "), names.back(),
                         row.values.size());
    for (std::size_t i = 0; i < row.values.size(); ++i)
      cases += fmt::format("      {}:{}) {} ;;\n", names.back(), i, action(row.values[i]));
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string place = i + 1 == places.size() ? "*" : fmt::format("{}", i);
    operands += fmt::format("      *:{}) {} ;;\n", place, action(places[i]->values.front()));
  }
  if (operands.empty()) operands = "      *) ;;\n";
  operands.insert(0, others);
  std::string script(kScript);
  script = replaced(script, "%V", takes);
  script = replaced(script, "%F", flags);
  script = replaced(script, "%C", cases);
  script = replaced(script, "%P", operands);
  script = replaced(script, "%O", joined(all, " "));
  script = replaced(script, "%I", identifier(tool));
  return replaced(script, "%N", tool);
}

}  // namespace cli
