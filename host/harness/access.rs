//! How the models outside are reached, and what is said where they are not.

use std::collections::BTreeMap;

use crate::{
    builtin,
    mod_host::Origin,
    providers::{Access, Providers, ProvidersError},
    settings::Mods,
};

/// How the models outside are reached: comes in as a value, never read from the environment here.
#[derive(Debug, Clone, Default)]
pub struct ModelAccess {
    /// `OPENAI_BASE_URL` and `OPENAI_API_KEY`: an OpenAI-compatible endpoint.
    pub openai: Access,
    /// `ANTHROPIC_BASE_URL` and `ANTHROPIC_API_KEY`.
    pub anthropic: Access,
}

impl ModelAccess {
    /// Tells the built-in mods, which have no other way to know it than their options. What was typed stands above
    /// it, and a mod that is turned off is told nothing.
    pub(super) fn tell(&self, options: &mut BTreeMap<String, String>, settings: &Mods) {
        let mods = [(builtin::OPENAI, &self.openai), (builtin::ANTHROPIC, &self.anthropic)];
        for (name, access) in mods.into_iter().filter(|(name, _)| settings.disabled_by(name).is_none()) {
            let told = [(builtin::BASE_URL, &access.base_url), (builtin::API_KEY, &access.api_key)];
            for (option, value) in told {
                if let Some(value) = value {
                    options.entry(format!("{name}.{option}")).or_insert_with(|| value.clone());
                }
            }
        }
    }
}

/// Notes whose providers are not there because a built-in mod is turned off.
pub(super) fn note_turned_off(providers: &Providers, disabled: &[(String, Origin)]) {
    for (name, _) in disabled.iter().filter(|(_, origin)| *origin == Origin::BuiltIn) {
        for id in builtin::providers_of(name) {
            providers.turned_off(*id, format!("mods.disabled in settings.json names its mod {name}"));
        }
    }
}

/// Whether `model` can be called; false where mods that are still to load may know of it. So no code of theirs runs
/// where it cannot matter.
pub(super) fn is_known(providers: &Providers, model: &str) -> Result<bool, ProvidersError> {
    match providers.resolve(model) {
        Ok(_) => Ok(true),
        Err(ProvidersError::Unknown { .. } | ProvidersError::TurnedOff { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
