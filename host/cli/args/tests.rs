use clap::CommandFactory;

use super::*;

/// Parses a command line that is split at blanks.
fn parse(line: &str) -> Cli {
    Cli::try_parse_from(line.split(' ')).unwrap()
}

/// What clap prints for a command line that is split at blanks.
fn printed(line: &str) -> String {
    let command = Cli::command().term_width(100);
    command.try_get_matches_from(line.split(' ')).unwrap_err().render().to_string()
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn a_session_takes_all_its_arguments() {
    let run = parse(
        "cmd -p hi --model a/b --output-format stream-json --mod x.so --mod y --mod-option a=b --mod-option c.d==e \
         --mod-timing --max-turns 3 --permission-mode accept-edits --allow a --allow b(c) --deny d --cwd w --no-session --verbose",
    )
    .run;
    assert_eq!(
        format!("{run:?}"),
        "RunArgs { print: Some(\"hi\"), model: Some(\"a/b\"), output_format: StreamJson, mods: [\"x.so\", \"y\"], \
         mod_options: [(\"a\", \"b\"), (\"c.d\", \"=e\")], no_mods: false, mod_timing: true, max_turns: Some(3), \
         permission_mode: Some(AcceptEdits), dangerously_skip_permissions: false, allow: [\"a\", \"b(c)\"], \
         deny: [\"d\"], latest: false, resume: None, no_session: true, verbose: true, workspace: Workspace { cwd: Some(\"w\") } }"
    );
}

#[test]
fn the_prompt_may_be_left_to_standard_input() {
    let prompt = |line| parse(line).run.print;
    assert_eq!(prompt("cmd"), None);
    assert_eq!(prompt("cmd -p"), Some("-".into()));
    assert_eq!(prompt("cmd -p -"), Some("-".into()));
    assert_eq!(prompt("cmd -p --verbose"), Some("-".into()));
    assert_eq!(prompt("cmd --print=-x"), Some("-x".into()));
}

#[test]
fn a_mistake_is_told_with_what_would_be_right() {
    let cases = [
        (
            "cmd --pirnt hi",
            "error: unexpected argument '--pirnt' found\n\n  tip: a similar argument exists: '--print'\n\nUsage: cmd --print [<PROMPT>]\n\nFor more information, try '--help'.\n",
        ),
        (
            "cmd mods lst",
            "error: unrecognized subcommand 'lst'\n\n  tip: a similar subcommand exists: 'list'\n\nUsage: cmd mods <COMMAND>\n\nFor more information, try '--help'.\n",
        ),
        (
            "cmd -p hi --max-turns 0",
            "error: invalid value '0' for '--max-turns <N>': expected a whole number, 1 or more\n\nFor more information, try '--help'.\n",
        ),
        (
            "cmd -p hi --permission-mode yolo",
            "error: invalid value 'yolo' for '--permission-mode <MODE>'\n  [possible values: default, plan, accept-edits, bypass]\n\nFor more information, try '--help'.\n",
        ),
        (
            "cmd -p hi --mod-option verbose",
            "error: invalid value 'verbose' for '--mod-option <NAME=VALUE>': expected NAME=VALUE\n\nFor more information, try '--help'.\n",
        ),
        (
            "cmd -p hi --allow shell_command(git",
            "error: invalid value 'shell_command(git' for '--allow <RULE>': expected TOOL or TOOL(PATTERN)\n\nFor more information, try '--help'.\n",
        ),
        (
            "cmd -p hi --no-mods --mod x",
            "error: the argument '--no-mods' cannot be used with '--mod <PATH>'\n\nUsage: cmd --print [<PROMPT>] --no-mods\n\nFor more information, try '--help'.\n",
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(printed(line), expected, "{line}");
    }
}

#[test]
fn help_shows_every_argument_and_examples() {
    assert_eq!(
        printed("cmd -h"),
        r#"A coding agent whose behaviour native mods can change

Usage: cmd [OPTIONS]
       cmd <COMMAND>

Commands:
  mods  Install, list, check and make mods

Options:
  -p, --print [<PROMPT>]        Run one prompt and print the answer; `-` or nothing reads the prompt
                                from standard input. What is piped in is put behind the prompt
      --model <MODEL>           The model, as provider/id
      --output-format <FORMAT>  What to print [default: text] [possible values: text, json,
                                stream-json]
      --max-turns <N>           Stop after this many turns
      --verbose                 Also print what the tools do, to standard error
      --cwd <DIR>               Work in this folder instead of the current one
  -h, --help                    Print help (see more with '--help')
  -V, --version                 Print version

Mods:
      --mod <PATH>               Load this mod too, ahead of the installed ones: a library, a mod's
                                 folder, or a built cargo package. May be repeated
      --mod-option <NAME=VALUE>  Give a mod's flag a value. May be repeated
      --no-mods                  Load no mods but the built-in ones
      --mod-timing               Also print at the end what each mod's hooks took: calls, faults,
                                 and the time in the mod's code

Permissions:
      --permission-mode <MODE>        What may run unasked [possible values: default, plan,
                                      accept-edits, bypass]
      --dangerously-skip-permissions  Run every tool unasked, and load the project's own mods
                                      unasked. Deny rules still hold
      --allow <RULE>                  Run this unasked, such as "shell_command(git *)". May be
                                      repeated
      --deny <RULE>                   Never run this. May be repeated

Session:
  -c, --continue       Go on with the session of this folder that was written to last
  -r, --resume [<ID>]  Go on with this session of this folder: its id, or enough of either end of
                       it. Without one, list them
      --no-session     Keep no record of the session on disk

Examples:
  cmd -p "What does this project do?"
  git diff | cmd -p "Review this change"
  cmd -p "Run the tests" --allow "shell_command(cargo test *)"
  cmd -p "Count the TODOs" --mod ./target/release/libcustom_tool.so
  cmd -p "List the files" --output-format stream-json
  cmd mods add ./review-guard-1.0.0.tgz

Exit status: 0 when the run came to its own end, 1 when it did not, 2 for a wrong command line.
"#
    );
}

#[test]
fn help_of_mods_shows_every_command_and_examples() {
    assert_eq!(
        printed("cmd mods -h"),
        r#"Install, list, check and make mods

Usage: cmd mods <COMMAND>

Commands:
  add      Install a package of mods
  list     Show every mod, what it registered, and what is wrong with it
  update   Bring back what is missing, and follow what changed in the settings
  remove   Remove a package
  verify   Compare the installed packages with the lock files
  lock     Compare settings, lock files and installed packages
  trust    Trust the mods that the workspace has now, or the new key of a package
  untrust  Take the trust in the workspace back
  inspect  Show what a library or a mod's folder says about itself, without running it
  bench    Measure what each hook of a mod takes
  new      Make the folder of a new mod, with a test
  pack     Build a mod and pack it into an archive

Options:
  -h, --help  Print help

Examples:
  cmd mods new my-mod
  cmd mods pack ./my-mod
  cmd mods add ./my-mod-1.0.0.tgz
  cmd mods add npm:@team/review-mod@1.2.0
  cmd mods add -g owner/repo@v1
  cmd mods list
  cmd mods update --latest
  cmd mods remove owner/repo
  cmd mods inspect ./target/release/libmy_mod.so
  cmd mods bench ./target/release/libmy_mod.so
"#
    );
}
