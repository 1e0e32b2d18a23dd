//! What is promised of the table, as ratios of one run.

use mod_interface::types::Hook;

/// The job that something is promised of.
pub(crate) const NAME: &str = "before_tool_call, tool name";
/// What a mod of each form is compared with.
pub(crate) const BOXED: &str = "c boxed future";
pub(crate) const BOXED_PENDING: &str = "c boxed future, pending";
/// How many mods have a hook that is asked in a run.
pub(crate) const NO_MODS: &str = "no mods";
pub(crate) const LACK_IT: &str = "50 mods that lack it";
pub(crate) const HAS_IT: &str = "a mod that has it";
/// A mod that has a runtime of its own, and one that has none.
pub(crate) const RUNTIME: &str = "before_tool_call, tool name, a runtime of the mod's own";
/// The job that looks at one message.
pub(crate) const LOOK: &str = "transform_context, no change";
/// An event, and who hears it.
pub(crate) const OBSERVED: &str = "text_delta";
pub(crate) const NOBODY: &str = "nobody observes";
pub(crate) const ONE: &str = "an observer";

pub(crate) const FEW: usize = 10;
pub(crate) const MANY: usize = 100_000;
/// How often its boxed future a look at a tool's name takes at most, by the form of the hook.
const BY_BOXED: [(&str, &str, f64); 3] =
    [("sync", BOXED, 1.7), ("ready", BOXED, 2.0), ("pending", BOXED_PENDING, 3.3)];
/// How often it takes with many messages what it takes with few.
const BY_FEW: f64 = 1.1;
/// How often the boxed future an observer takes at most.
const OBSERVER: f64 = 4.0;
/// How often the boxed future a runtime of the mod's own takes at most.
const BY_NO_RUNTIME: f64 = 12.0;
/// How many nanoseconds a hook takes at most that looks at one of many messages.
const LOOK_NANOS: f64 = 200.0;
/// How often the boxed future 50 mods that lack a hook take at most.
const LACKING: f64 = 0.4;

/// Something that is promised, and what came of it.
pub(crate) struct Promise {
    what: String,
    /// `None` where it was not measured.
    got: Option<f64>,
    bound: f64,
}

impl Promise {
    pub(crate) fn is_kept(&self) -> bool {
        self.got.is_some_and(|got| got <= self.bound)
    }
}

impl std::fmt::Display for Promise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, got, bound } = self;
        write!(f, "{what}, at most {bound}: ")?;
        match got {
            Some(got) if self.is_kept() => write!(f, "{got:.2}: met"),
            Some(got) => write!(f, "{got:.2}: MISSED"),
            None => f.write_str("was not measured"),
        }
    }
}

/// The name of a group.
pub(crate) fn group(job: &str, messages: usize, mods: usize) -> String {
    let mods = if mods == 1 { String::new() } else { format!(", {mods} mods") };
    format!("{job}, {messages} messages{mods}")
}

/// The name of the group of a hook that is asked in a run.
pub(crate) fn in_a_run(hook: Hook, messages: usize) -> String {
    format!("{hook} in a run, {messages} messages")
}

/// All that is promised, of the medians by group and row.
pub(crate) fn promises(median: impl Fn(&str, &str) -> Option<f64>) -> Vec<Promise> {
    let (few, many) = (group(NAME, FEW, 1), group(NAME, MANY, 1));
    let mut all = Vec::new();
    let mut promise = |what: String, over: Option<f64>, under: Option<f64>, bound| {
        let got = over.zip(under).map(|(over, under)| over / under);
        all.push(Promise { what, got, bound });
    };
    for (form, boxed, bound) in BY_BOXED {
        for way in [format!("d compiled in, {form}"), format!("e shared library, {form}")] {
            for (messages, group) in [(FEW, &few), (MANY, &many)] {
                let what = format!("{way}, {messages} messages, by the {}", &boxed[2..]);
                promise(what, median(group, &way), median(group, boxed), bound);
            }
            let what = format!("{way}, {MANY} messages by {FEW}");
            promise(what, median(&many, &way), median(&few, &way), BY_FEW);
        }
    }
    let more = |group: &str, with: &str, without: &str| Some(median(group, with)? - median(group, without)?);
    for hook in Hook::ALL {
        let (few, many) = (in_a_run(hook, FEW), in_a_run(hook, MANY));
        let what = format!("{few}, {LACK_IT}, by the boxed future");
        promise(what, more(&few, LACK_IT, NO_MODS), median(&few, BOXED), LACKING);
        let what = format!("{hook} in a run, {HAS_IT}, {MANY} messages by {FEW}");
        promise(what, median(&many, HAS_IT), median(&few, HAS_IT), BY_FEW);
    }
    let observer = more(OBSERVED, ONE, NOBODY);
    promise(format!("{OBSERVED}, {ONE}, by the boxed future"), observer, median(OBSERVED, BOXED), OBSERVER);
    for (form, _, _) in BY_BOXED {
        let (with, without) = (format!("e with a runtime, {form}"), format!("e shared library, {form}"));
        let what = format!("a runtime of the mod's own, {form}, by the boxed future");
        promise(what, more(RUNTIME, &with, &without), median(RUNTIME, BOXED), BY_NO_RUNTIME);
        let what = format!("{without}, a look at one of {MANY} messages, by 0.2 µs");
        promise(what, median(&group(LOOK, MANY, 1), &without), Some(LOOK_NANOS), 1.0);
    }
    all
}
