//! What was typed, and what goes before what.

use clap::{FromArgMatches as _, parser::ValueSource};

use crate::arguments::{
    Arguments, BoundsArgs, Command, ConsentCommand, FolderArgs, Openapi, TokenCommand, WITH_OPENAPI,
};

/// All that was typed.
#[derive(Debug)]
pub(crate) struct ParsedArgs {
    pub(crate) arguments: Arguments,
    pub(crate) folder: FolderArgs,
    pub(crate) bounds: BoundsArgs,
    pub(crate) openapi: Openapi,
}

/// Reads what was typed.
pub(crate) fn read(
    command: clap::Command,
    words: Vec<std::ffi::OsString>,
    built_in: bool,
) -> Result<ParsedArgs, clap::Error> {
    let matches = command.try_get_matches_from(words)?;
    let mut arguments = Arguments::from_arg_matches(&matches)?;
    typed_first(&mut arguments.command, &matches);
    let mut args = ParsedArgs {
        arguments,
        folder: FolderArgs::default(),
        bounds: BoundsArgs::default(),
        openapi: Openapi::default(),
    };
    if built_in {
        args.folder = FolderArgs::from_arg_matches(&matches)?;
        if let Some(("serve" | "mcp" | "doctor", bounded)) = matches.subcommand() {
            args.bounds = BoundsArgs::from_arg_matches(bounded)?;
        }
        if let Some((name, matches)) = matches.subcommand()
            && cfg!(feature = "gateway")
            && WITH_OPENAPI.contains(&name)
        {
            args.openapi = Openapi::from_arg_matches(matches)?;
        }
    }
    Ok(args)
}

/// Forgets what the environment names where something else was typed that names the same.
fn typed_first(command: &mut Command, matches: &clap::ArgMatches) {
    let Some((_, matches)) = matches.subcommand() else { return };
    match command {
        Command::Token(token) => {
            let Some((_, matches)) = matches.subcommand() else { return };
            let file = match &mut token.what {
                TokenCommand::New(new) => &mut new.file,
                TokenCommand::List(file) => file,
                TokenCommand::Revoke(revoke) => &mut revoke.file,
            };
            if outdone(matches, "path", "config") {
                file.path = None;
            }
        }
        Command::Consent(consent) => {
            let Some((_, matches)) = matches.subcommand() else { return };
            let place = match &mut consent.what {
                ConsentCommand::Grant(grant) => &mut grant.place,
                ConsentCommand::List(list) => &mut list.place,
                ConsentCommand::Revoke(revoke) => &mut revoke.place,
            };
            if outdone(matches, "url", "config") || outdone(matches, "url", "state") {
                place.server.url = None;
            }
        }
        Command::Audit(audit) if outdone(matches, "state", "config") => audit.state = None,
        Command::Quota(quota) if outdone(matches, "state", "config") => quota.state = None,
        Command::Serve(_)
        | Command::Mcp(_)
        | Command::Call(_)
        | Command::Ops(_)
        | Command::Explain(_)
        | Command::Doctor(_)
        | Command::Audit(_)
        | Command::Quota(_)
        | Command::Gen(_)
        | Command::New(_)
        | Command::Completions(_)
        | Command::Man(_) => {}
        #[cfg(feature = "gateway")]
        Command::Import(_) => {}
    }
}

/// Whether one value is the environment's, and the other was typed.
fn outdone(matches: &clap::ArgMatches, one: &str, other: &str) -> bool {
    matches.value_source(one) == Some(ValueSource::EnvVariable)
        && matches.value_source(other) == Some(ValueSource::CommandLine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::command;

    #[test]
    fn a_folder_is_taken_before_and_after_the_command() {
        let built_in = crate::Program::built_in(|_| Ok(redress_core::Registry::builder().build()?)).named("r");
        let own = crate::Program::of(redress_core::Registry::builder().build().unwrap()).named("r");
        for words in [["r", "--root", "a", "ops"], ["r", "ops", "--root", "a"]] {
            let words = words.map(Into::into).to_vec();
            let args = read(command(&built_in), words, true).unwrap();
            assert_eq!(args.folder.root.as_deref(), Some("a".as_ref()));
        }
        let mine = ["r", "ops", "--root", "a"].map(Into::into).to_vec();
        assert!(read(command(&own), mine, false).is_err());
    }
}
