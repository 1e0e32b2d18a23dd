//! `titling` gives a session without a name one, for the list of sessions: the first line that a person said in it.

use mod_interface::prelude::*;

/// How many characters of a line a name has; a longer one ends between two words, with an ellipsis.
const LONGEST: usize = 60;

pub(super) async fn titling(cmd: ModApi) -> Result<()> {
    let api = cmd.clone();
    // What was said in a run is committed when it ends.
    cmd.on(EventKind::RunEnd, move |_| {
        let title = api.session().and_then(|session| title(&session.info().ok()?));
        if let Some(title) = title {
            // It fails when the session is over.
            let _gone = api.set_session_name(&title);
        }
    })?;
    Ok(())
}

/// The name for a session that has none; one that is in memory alone is in no list.
fn title(session: &SessionInfo) -> Option<String> {
    let prompt = session.first_prompt.as_deref().filter(|_| session.recorded && session.name.is_none())?;
    let line = prompt.lines().find(|line| !line.trim().is_empty())?;
    let words: Vec<_> = line.split_whitespace().collect();
    let whole = words.join(" ");
    let Some((end, _)) = whole.char_indices().nth(LONGEST) else { return Some(whole) };
    let kept = &whole[..end];
    let kept = kept.rsplit_once(' ').map_or(kept, |(words, _)| words);
    Some(format!("{kept}…"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titled(prompt: &str) -> Option<String> {
        let mut session = SessionInfo::default();
        session.first_prompt = Some(prompt.to_owned());
        session.recorded = true;
        title(&session)
    }

    #[test]
    fn a_title_is_the_first_line_of_the_first_prompt_cut_between_words() {
        assert_eq!(titled("\n  fix the \t parser \n please").as_deref(), Some("fix the parser"));
        let words = "four ".repeat(20);
        assert_eq!(titled(&words), Some(format!("{}…", "four ".repeat(11) + "four")));
        assert_eq!(titled(&"ä".repeat(61)), Some(format!("{}…", "ä".repeat(60))));
        assert_eq!(titled(&"ä".repeat(60)), Some("ä".repeat(60)));
        assert_eq!(titled(" \n "), None);
    }

    #[test]
    fn a_session_with_a_name_and_one_in_memory_keep_what_they_have() {
        let mut session = SessionInfo::default();
        session.first_prompt = Some("go".to_owned());
        assert_eq!(title(&session), None, "in memory");
        session.recorded = true;
        assert_eq!(title(&session).as_deref(), Some("go"));
        session.name = Some("mine".to_owned());
        assert_eq!(title(&session), None);
    }
}
