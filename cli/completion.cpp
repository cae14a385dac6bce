// Scripts that complete command lines, written from the declared commands: a shell need not start the program to complete.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/say.hpp"

namespace rehearse::cli {

namespace {

/// A command and all below it, by their words: "run", "import jobs".
struct NamedCommand {
  std::string path;
  Command command;
};

void gather(const std::string& prefix, const Command& command, std::vector<NamedCommand>& all) {
  for (const Command& sub : command.subcommands()) {
    all.push_back({prefix + sub.name(), sub});
    gather(prefix + sub.name() + " ", sub, all);
  }
}

std::vector<std::string> names_below(const Command& command) {
  std::vector<std::string> names;
  for (const Command& sub : command.subcommands()) names.push_back(sub.name());
  return names;
}

/// What may stand where a command has no option: its commands, or the choices of its arguments.
std::vector<std::string> plain_words(const Command& command) {
  std::vector<std::string> words = names_below(command);
  for (const OptionFacts& option : command.options())
    if (option.is_positional) words.insert(words.end(), option.choices.begin(), option.choices.end());
  return words;
}

bool takes_files(const Command& command) {
  for (const OptionFacts& option : command.options())
    if (option.is_positional && option.choices.empty()) return true;
  return false;
}

std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> names;
  for (const OptionFacts& option : command.options())
    if (!option.is_positional) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

/// Of bash, and of zsh by its bashcompinit. The command is made of the words that name one; an option's value completes to its
/// choices, or to files.
std::string bash_function(const Command& program) {
  std::vector<NamedCommand> all;
  gather("", program, all);
  std::string paths, values, words;
  for (const NamedCommand& named : all) {
    paths += fmt::format("      '{}') command='{}' ;;\n", named.path, named.path);
    for (const OptionFacts& option : named.command.options()) {
      if (option.is_positional || !option.takes_value) continue;
      std::string patterns;
      for (const std::string& name : option.names)
        patterns += fmt::format("{}'{}:{}'", patterns.empty() ? "" : "|", named.path, name);
      values += option.choices.empty() ? fmt::format("    {}) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n", patterns)
                                       : fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$current\")); return ;;\n",
                                                     patterns, fmt::join(option.choices, " "));
    }
    words +=
        fmt::format("    '{}') options='{}' words='{}' files={} ;;\n", named.path, fmt::join(option_names(named.command), " "),
                    fmt::join(plain_words(named.command), " "), takes_files(named.command) ? 1 : 0);
  }
  return fmt::format(R"(_rehearse() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command= word i options words files
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    case "${{command:+$command }}$word" in
{}    esac
  done
  case "$command:$before" in
{}  esac
  case "$command" in
{}    *) options='{}' words='{}' files=0 ;;
  esac
  if [[ $current == -* ]]; then words=$options; files=0; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if ((files)); then COMPREPLY+=($(compgen -f -- "$current")); fi
}}
)",
                     paths, values, words, fmt::join(option_names(program), " "), fmt::join(names_below(program), " "));
}

/// In single quotes of fish.
std::string fish_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string fish_script(const Command& program) {
  std::vector<NamedCommand> all;
  gather("", program, all);
  std::string text = "complete -c rehearse -n __fish_use_subcommand -f\n";
  for (const NamedCommand& named : all) {
    const std::size_t blank = named.path.rfind(' ');
    const std::string parent = blank == named.path.npos ? "" : named.path.substr(0, blank);
    const std::vector<std::string> siblings = parent.empty() ? std::vector<std::string>() : [&] {
      for (const NamedCommand& other : all)
        if (other.path == parent) return names_below(other.command);
      return std::vector<std::string>();
    }();
    text += fmt::format("complete -c rehearse -n '{}' -f -a '{}' -d '{}'\n",
                        parent.empty() ? "__fish_use_subcommand"
                                       : fmt::format("__fish_seen_subcommand_from {}; and not __fish_seen_subcommand_from {}",
                                                     parent, fmt::join(siblings, " ")),
                        named.command.name(), fish_text(named.command.summary()));
    std::string seen = "__fish_seen_subcommand_from " + named.path.substr(0, named.path.find(' '));
    if (blank != named.path.npos) seen += "; and __fish_seen_subcommand_from " + named.command.name();
    for (const OptionFacts& option : named.command.options()) {
      const std::string choices = fmt::format("{}", fmt::join(option.choices, " "));
      if (option.is_positional) {
        if (!choices.empty()) text += fmt::format("complete -c rehearse -n '{}' -f -a '{}'\n", seen, choices);
        continue;
      }
      std::string names;
      for (const std::string& name : option.names)
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      text += fmt::format("complete -c rehearse -n '{}'{}{}{} -d '{}'\n", seen, names, option.takes_value ? " -r" : "",
                          choices.empty() ? "" : fmt::format(" -f -a '{}'", choices), fish_text(option.help));
    }
  }
  return text;
}

}  // namespace

int completion_command(Command program, const CompletionArguments& arguments) {
  if (arguments.shell == "fish")
    say("{}", fish_script(program));
  else if (arguments.shell == "zsh")
    say("autoload -U +X bashcompinit && bashcompinit\n{}complete -o filenames -F _rehearse rehearse\n", bash_function(program));
  else
    say("{}complete -o filenames -F _rehearse rehearse\n", bash_function(program));
  return kOk;
}

}  // namespace rehearse::cli
