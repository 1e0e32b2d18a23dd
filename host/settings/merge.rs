use std::{num::NonZeroU32, time::Duration};

use super::{Api, Compaction, Layer, ModLayer, Permissions, Scope, SigningMode, ToolExecution};

/// How long a hook may take of its own time, unless the settings say otherwise.
const HOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a mod's tool may take of its own time, unless the settings say otherwise.
const TOOL_TIMEOUT: Duration = Duration::from_secs(600);

/// How long a mod may take to load, its constructors and its factory together, unless the settings say
/// otherwise.
const LOAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The settings of both scopes, as they were read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Loaded {
    /// The user's.
    pub user: Layer,
    /// The project's.
    pub project: Layer,
    /// What is odd about the files, one line each.
    pub warnings: Vec<String>,
}

/// The settings that hold for a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The model, `provider/id`.
    pub model: Option<String>,
    /// What runs unasked, and what never runs.
    pub permissions: Permissions,
    /// Which mods there are.
    pub mods: Mods,
    /// How model requests are retried.
    pub api: Api,
    /// After how many turns a run stops.
    pub max_turns: Option<NonZeroU32>,
    /// How the tool calls of a batch run.
    pub tool_execution: Option<ToolExecution>,
    /// From how many tokens on a conversation is compacted; 0 is never, as is none.
    pub compaction: Compaction,
}

/// The `mods` settings. They stay apart by scope: a path is relative to its scope's folder, and user
/// mods load before the project's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mods {
    /// The user's.
    pub user: ModLayer,
    /// The project's; empty until the workspace is trusted.
    pub project: ModLayer,
}

impl Loaded {
    /// Makes one value of both files. The project wins where both speak. What could make it more
    /// dangerous or dearer counts only if it is `trusted`: its mods, its model, how it is called and what it is sent, its
    /// allow rules and its permission mode.
    /// What makes it safer, its deny rules, always counts.
    pub fn merge(&self, trusted: bool) -> Settings {
        let untrusted = Layer::default();
        let (user, project) = (&self.user, &self.project);
        let gated = if trusted { project } else { &untrusted };
        Settings {
            model: gated.model.clone().or_else(|| user.model.clone()),
            permissions: Permissions {
                mode: gated.permissions.mode.or(user.permissions.mode),
                allow: joined(&user.permissions.allow, &gated.permissions.allow),
                deny: joined(&user.permissions.deny, &project.permissions.deny),
            },
            mods: Mods { user: user.mods.clone(), project: gated.mods.clone() },
            api: Api {
                max_attempts: gated.api.max_attempts.or(user.api.max_attempts),
                base_delay_ms: gated.api.base_delay_ms.or(user.api.base_delay_ms),
            },
            max_turns: project.max_turns.or(user.max_turns),
            tool_execution: project.tool_execution.or(user.tool_execution),
            compaction: Compaction {
                threshold_tokens: gated.compaction.threshold_tokens.or(user.compaction.threshold_tokens),
            },
        }
    }

    /// The keys that the project sets and that do not count until it is trusted, those about its mods left out.
    pub fn gated(&self) -> Vec<&'static str> {
        let Layer { model, permissions, api, compaction, .. } = &self.project;
        let keys = [
            ("model", model.is_some()),
            ("permissions.mode", permissions.mode.is_some()),
            ("permissions.allow", !permissions.allow.is_empty()),
            ("api", *api != Api::default()),
            ("compaction", *compaction != Compaction::default()),
        ];
        keys.into_iter().filter(|(_, set)| *set).map(|(key, _)| key).collect()
    }
}

/// A time limit that was set to so many milliseconds; zero sets none.
fn timeout(set: Option<u64>, unset: Duration) -> Option<Duration> {
    Some(set.map_or(unset, Duration::from_millis)).filter(|timeout| !timeout.is_zero())
}

fn joined(user: &[String], project: &[String]) -> Vec<String> {
    [user, project].concat()
}

impl Mods {
    /// The layer of `scope`.
    pub fn layer(&self, scope: Scope) -> &ModLayer {
        match scope {
            Scope::User => &self.user,
            Scope::Project => &self.project,
        }
    }

    /// Which scope turns the mod of that name off; the user's, when both do.
    pub fn disabled_by(&self, name: &str) -> Option<Scope> {
        [Scope::User, Scope::Project]
            .into_iter()
            .find(|scope| self.layer(*scope).disabled.iter().any(|disabled| disabled == name))
    }

    /// What the user is to know of a mod of that name, which is not the project's own and does not load: that
    /// the project turns it off.
    pub fn turned_off_by_project(&self, name: &str) -> Option<String> {
        let by_project = self.disabled_by(name) == Some(Scope::Project);
        by_project.then(|| format!("the project turns off a mod of the user: {name}"))
    }

    /// How long a hook may take of its own time; `None` is for ever.
    pub fn hook_timeout(&self) -> Option<Duration> {
        timeout(self.project.hook_timeout_ms.or(self.user.hook_timeout_ms), HOOK_TIMEOUT)
    }

    /// How long a mod's tool may take of its own time; `None` is for ever.
    pub fn tool_timeout(&self) -> Option<Duration> {
        timeout(self.project.tool_timeout_ms.or(self.user.tool_timeout_ms), TOOL_TIMEOUT)
    }

    /// How long a mod may take to load. There is always an end to it: a start waits for its mods.
    pub fn load_timeout(&self) -> Duration {
        let set = self.project.load_timeout_ms.or(self.user.load_timeout_ms);
        set.map_or(LOAD_TIMEOUT, |millis| Duration::from_millis(millis.get().into()))
    }

    /// How strict signing is: a project may only tighten what the user set.
    pub fn signing_mode(&self) -> SigningMode {
        self.user.signing.mode.max(self.project.signing.mode).unwrap_or(SigningMode::Tofu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(user: &str, project: &str) -> Loaded {
        let layer = |text| serde_json::from_str(text).unwrap();
        Loaded { user: layer(user), project: layer(project), warnings: Vec::new() }
    }

    #[test]
    fn the_project_wins_over_the_user_key_by_key() {
        let both = loaded(
            r#"{"model": "a/1", "maxTurns": 5, "compaction": {"thresholdTokens": 9}, "api": {"maxAttempts": 2, "baseDelayMs": 10}, "permissions": {"mode": "plan", "allow": ["a"]}}"#,
            r#"{"model": "b/2", "toolExecution": "parallel", "api": {"baseDelayMs": 20}, "compaction": {"thresholdTokens": 0}, "permissions": {"mode": "accept-edits", "allow": ["b"]}}"#,
        );
        let expected: Layer = serde_json::from_str(
            r#"{"model": "b/2", "maxTurns": 5, "toolExecution": "parallel", "api": {"maxAttempts": 2, "baseDelayMs": 20}, "permissions": {"mode": "accept-edits", "allow": ["a", "b"]}}"#,
        )
        .unwrap();
        assert_eq!(
            both.merge(true),
            Settings {
                model: expected.model,
                permissions: expected.permissions,
                mods: Mods::default(),
                api: expected.api,
                max_turns: NonZeroU32::new(5),
                tool_execution: expected.tool_execution,
                compaction: Compaction { threshold_tokens: Some(0) },
            }
        );
    }

    #[test]
    fn an_untrusted_project_can_tighten_permissions_and_not_loosen_them() {
        let both = loaded(
            r#"{"permissions": {"mode": "default", "allow": ["a"], "deny": ["c"]}}"#,
            r#"{"model": "scripted/x", "api": {"maxAttempts": 99}, "compaction": {"thresholdTokens": 1}, "permissions": {"mode": "bypass", "allow": ["b"], "deny": ["d"]}, "mods": {"disabled": ["guard"], "paths": ["x"], "hookTimeoutMs": 0}}"#,
        );
        let untrusted = both.merge(false);
        assert_eq!(
            (&untrusted.model, &untrusted.api, &untrusted.compaction),
            (&None, &Api::default(), &Compaction::default()),
            "a scenario could call tools"
        );
        let expected =
            loaded(r#"{"permissions": {"mode": "default", "allow": ["a"], "deny": ["c", "d"]}}"#, "{}");
        assert_eq!(untrusted.permissions, expected.user.permissions);
        assert_eq!(untrusted.mods, Mods::default());
        assert_eq!(both.gated(), ["model", "permissions.mode", "permissions.allow", "api", "compaction"]);
        assert_eq!(
            both.merge(true).mods,
            Mods { user: ModLayer::default(), project: both.project.mods.clone() }
        );
    }

    #[test]
    fn the_mod_settings_of_both_scopes_are_asked_together() {
        let mods = loaded(
            r#"{"mods": {"disabled": ["a", "b"], "signing": {"mode": "require"}}}"#,
            r#"{"mods": {"disabled": ["b", "c"], "signing": {"mode": "off"}}}"#,
        )
        .merge(true)
        .mods;
        assert_eq!(
            ["a", "b", "c", "d"].map(|name| mods.disabled_by(name)),
            [Some(Scope::User), Some(Scope::User), Some(Scope::Project), None]
        );
        assert_eq!(mods.signing_mode(), SigningMode::Require);
        assert_eq!(Mods::default().signing_mode(), SigningMode::Tofu);
    }

    #[test]
    fn a_hook_timeout_of_zero_is_for_ever_and_none_is_ten_seconds() {
        let timeout = |user, project| loaded(user, project).merge(true).mods.hook_timeout();
        assert_eq!(timeout("{}", "{}"), Some(Duration::from_secs(10)));
        assert_eq!(timeout(r#"{"mods": {"hookTimeoutMs": 50}}"#, "{}"), Some(Duration::from_millis(50)));
        assert_eq!(timeout(r#"{"mods": {"hookTimeoutMs": 50}}"#, r#"{"mods": {"hookTimeoutMs": 0}}"#), None);
    }

    #[test]
    fn a_tool_timeout_of_zero_is_for_ever_and_none_is_ten_minutes() {
        let timeout = |user, project| loaded(user, project).merge(true).mods.tool_timeout();
        assert_eq!(timeout("{}", "{}"), Some(Duration::from_secs(600)));
        assert_eq!(timeout(r#"{"mods": {"toolTimeoutMs": 50}}"#, "{}"), Some(Duration::from_millis(50)));
        assert_eq!(timeout(r#"{"mods": {"toolTimeoutMs": 50}}"#, r#"{"mods": {"toolTimeoutMs": 0}}"#), None);
    }

    #[test]
    fn a_load_timeout_is_ten_seconds_unless_a_file_says_otherwise() {
        let timeout = |user, project| loaded(user, project).merge(true).mods.load_timeout();
        assert_eq!(timeout("{}", "{}"), Duration::from_secs(10));
        assert_eq!(timeout(r#"{"mods": {"loadTimeoutMs": 50}}"#, "{}"), Duration::from_millis(50));
        let project = r#"{"mods": {"loadTimeoutMs": 70}}"#;
        assert_eq!(timeout(r#"{"mods": {"loadTimeoutMs": 50}}"#, project), Duration::from_millis(70));
    }
}
