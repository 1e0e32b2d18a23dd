//! Flags that mods declare, and the values that they have.
//!
//! `--mod-option <mod>.<flag>=value` is for one mod, always. `--mod-option <flag>=value` is for the first mod that
//! declared a flag of that name, and where none did for every mod that asks.

use mod_interface::types::NoticeLevel;
use serde::Deserialize;
use serde_json::Value;

use super::{Core, identity::ModIdentity, registrations::What};

const MAX_NAME: usize = 64;

/// What a mod says of a flag.
#[derive(Debug, Deserialize)]
pub(crate) struct FlagSpec {
    pub(crate) name: String,
    #[serde(rename = "type")]
    kind: FlagKind,
    #[serde(default)]
    default: Option<Value>,
    /// For people.
    #[serde(default)]
    description: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FlagKind {
    Boolean,
    Number,
    String,
}

impl FlagKind {
    /// What its values are, for people.
    fn values(self) -> &'static str {
        match self {
            Self::Boolean => "true or false",
            Self::Number => "a whole number from 0",
            Self::String => "a text",
        }
    }
}

impl FlagSpec {
    fn check(&self) -> Result<(), String> {
        let named = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if !(1..=MAX_NAME).contains(&self.name.len()) || !self.name.bytes().all(named) {
            return Err(format!(
                "a flag's name is of a-z, A-Z, 0-9, _ and -, at most {MAX_NAME}, got: {}",
                self.name
            ));
        }
        let Some(default) = &self.default else { return Ok(()) };
        let is_one = match self.kind {
            FlagKind::Boolean => default.is_boolean(),
            FlagKind::Number => default.is_u64(),
            FlagKind::String => default.is_string(),
        };
        if is_one {
            return Ok(());
        }
        Err(format!("the default of a {:?} flag is one too, got: {default}", self.kind).to_lowercase())
    }

    fn takes(&self, value: &str) -> bool {
        match self.kind {
            FlagKind::Boolean => matches!(value, "true" | "false"),
            FlagKind::Number => value.parse::<u64>().is_ok(),
            FlagKind::String => true,
        }
    }

    fn default_text(&self) -> Option<String> {
        self.default
            .as_ref()
            .map(|default| default.as_str().map_or_else(|| default.to_string(), str::to_owned))
    }
}

impl Core {
    /// Adds a flag. One that cannot be added is told, and the mod goes on without it.
    pub(crate) fn add_flag(
        &self,
        owner: &std::sync::Arc<ModIdentity>,
        spec: FlagSpec,
    ) -> Result<u64, String> {
        let (name, place) = (spec.name.clone(), format!("flag:{}", spec.name));
        if let Err(refused) = spec.check() {
            return Ok(self.refuse(owner, &place, &refused));
        }
        let id = self.register_named(owner, &place, &name, What::Flag(spec.into()))?;
        if let Some((_, first)) =
            self.registrations().flag(owner, &name).filter(|(_, first)| first.id != owner.id)
        {
            let text = format!(
                "{} has a flag that {} has too, which is the one that --mod-option {name} sets; use --mod-option {}.{name}",
                owner.id, first.id, owner.name
            );
            self.bus.main().notice(NoticeLevel::Warning, text);
        }
        if let Err(fault) = self.flag(owner, &name) {
            self.options().note(fault);
        }
        Ok(id)
    }

    /// The value of a flag as text: that of an option, else the default. Of a flag that the mod has not declared
    /// it is the option's, whatever that is.
    ///
    /// # Errors
    /// The option is no value of the flag.
    pub(crate) fn flag(&self, owner: &ModIdentity, name: &str) -> Result<Option<String>, String> {
        let declared = self.registrations().flag(owner, name);
        let bare = declared.as_ref().is_none_or(|(_, first)| first.id == owner.id);
        let given = self.options().get(&owner.name, name, bare);
        let Some((flag, _)) = declared else { return Ok(given.map(|(_, value)| value.to_owned())) };
        match given {
            None => Ok(flag.default_text()),
            Some((_, value)) if flag.takes(value) => Ok(Some(value.to_owned())),
            Some((key, value)) => {
                let what = flag.description.as_ref().map(|what| format!(" ({what})")).unwrap_or_default();
                Err(format!(
                    "this flag of {}{what} is {}, got: --mod-option {key}={value}",
                    owner.id,
                    flag.kind.values()
                ))
            }
        }
    }
}
