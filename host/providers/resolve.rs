use std::sync::{Arc, PoisonError, RwLock};

use super::{Provider, ProviderError};

/// The providers there are, by id, in the order in which they were added.
#[derive(Clone, Default)]
pub struct Providers {
    by_id: Arc<RwLock<Vec<Arc<dyn Provider>>>>,
    /// Those that would be there, and why they are not.
    off: Arc<RwLock<Vec<(String, String)>>>,
}

/// Why there is no such model, or no such provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProvidersError {
    /// The name has no provider.
    #[error("a model is named provider/model, with one of the providers {known}{hint}, got: {name}")]
    NoProvider {
        /// The name.
        name: String,
        /// The providers there are.
        known: String,
        /// What may have been meant.
        hint: String,
    },
    /// There is no such provider.
    #[error("there is no such model provider, only {known}{hint}, got: {name}")]
    Unknown {
        /// The whole name.
        name: String,
        /// The providers there are.
        known: String,
        /// What may have been meant.
        hint: String,
    },
    /// The provider has no such model.
    #[error("the provider has no such model, only {known}{hint}, got: {name}")]
    NoModel {
        /// The whole name.
        name: String,
        /// The models that it has.
        known: String,
        /// What may have been meant.
        hint: String,
    },
    /// The provider is there, and turned off.
    #[error("the model provider {id} is turned off: {why}, got: {name}")]
    TurnedOff {
        /// The whole name.
        name: String,
        /// The provider.
        id: String,
        /// By what, and what to do.
        why: String,
    },
    /// The provider cannot call the model.
    #[error("{0}")]
    NotReady(#[from] ProviderError),
    /// Another provider has the id.
    #[error("there is a model provider of this id already, choose another: {0}")]
    Taken(String),
}

impl Providers {
    /// No providers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a provider behind those already there.
    ///
    /// # Errors
    /// There is one of its id: providers are added, never replaced.
    pub fn add(&self, provider: Arc<dyn Provider>) -> Result<(), ProvidersError> {
        let mut providers = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
        if providers.iter().any(|other| other.id() == provider.id()) {
            return Err(ProvidersError::Taken(provider.id().to_owned()));
        }
        providers.push(provider);
        Ok(())
    }

    /// Takes a provider out. Calls that are going on come to their end.
    pub fn remove(&self, provider: &Arc<dyn Provider>) {
        let mut providers = self.by_id.write().unwrap_or_else(PoisonError::into_inner);
        let at = providers.iter().position(|other| Arc::ptr_eq(other, provider));
        let removed = at.map(|at| providers.remove(at));
        drop(providers);
        // Not under the lock: what is dropped may be code of a mod.
        drop(removed);
    }

    /// Notes that the provider `id` is turned off, and why, for who asks for a model of it.
    pub fn turned_off(&self, id: impl Into<String>, why: impl Into<String>) {
        self.off.write().unwrap_or_else(PoisonError::into_inner).push((id.into(), why.into()));
    }

    fn why_off(&self, id: &str) -> Option<String> {
        let off = self.off.read().unwrap_or_else(PoisonError::into_inner);
        off.iter().find(|(other, _)| other == id).map(|(_, why)| why.clone())
    }

    /// Finds the provider of a `provider/model` name and makes sure that it can call the model.
    /// Returns it with the model's id.
    ///
    /// # Errors
    /// The name has no provider, there is none of that id, or it cannot call the model.
    pub fn resolve<'n>(&self, name: &'n str) -> Result<(Arc<dyn Provider>, &'n str), ProvidersError> {
        let providers = self.by_id.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some((id, model)) =
            name.split_once('/').filter(|(id, model)| !id.is_empty() && !model.is_empty())
        else {
            let (known, hint) = (list(&providers), hint_without_provider(&providers, name));
            return Err(ProvidersError::NoProvider { name: name.to_owned(), known, hint });
        };
        let Some(provider) = providers.iter().find(|provider| provider.id() == id) else {
            if let Some(why) = self.why_off(id) {
                return Err(ProvidersError::TurnedOff { name: name.to_owned(), id: id.to_owned(), why });
            }
            let hint = closest(&providers, id).map(|id| did_you_mean(id, model)).unwrap_or_default();
            return Err(ProvidersError::Unknown { name: name.to_owned(), known: list(&providers), hint });
        };
        let models = provider.models();
        if !models.is_empty() && models.iter().all(|known| known.id != model) {
            let ids = || models.iter().map(|known| known.id.as_str());
            let hint = super::closest(model, ids()).map(|model| did_you_mean(id, model)).unwrap_or_default();
            let known = ids().collect::<Vec<_>>().join(", ");
            return Err(ProvidersError::NoModel { name: name.to_owned(), known, hint });
        }
        provider.prepare(model)?;
        Ok((Arc::clone(provider), model))
    }
}

fn list(providers: &[Arc<dyn Provider>]) -> String {
    let mut ids: Vec<_> = providers.iter().map(|provider| provider.id()).collect();
    ids.sort_unstable();
    ids.join(", ")
}

/// `openai:gpt` and `openai gpt` meant `openai/gpt`; `openai` alone lacks a model.
fn hint_without_provider(providers: &[Arc<dyn Provider>], name: &str) -> String {
    let (id, model) = name.split_once(['/', ':', ' ', '@']).unwrap_or((name, ""));
    let model = if model.is_empty() { "<model>" } else { model.trim() };
    closest(providers, id).map(|id| did_you_mean(id, model)).unwrap_or_default()
}

fn did_you_mean(id: &str, model: &str) -> String {
    format!(" (did you mean {id}/{model}?)")
}

fn closest<'p>(providers: &'p [Arc<dyn Provider>], id: &str) -> Option<&'p str> {
    super::closest(id, providers.iter().map(|provider| provider.id()))
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt, stream};

    use super::*;
    use crate::providers::{ModelRequest, ModelStream};

    struct Fake(&'static str);

    impl Provider for Fake {
        fn id(&self) -> &str {
            self.0
        }

        fn prepare(&self, model: &str) -> Result<(), ProviderError> {
            if model == "keyless" { Err(ProviderError::fatal("no key")) } else { Ok(()) }
        }

        fn stream(&self, _request: ModelRequest) -> ModelStream {
            stream::empty().boxed()
        }
    }

    fn providers() -> Providers {
        let providers = Providers::new();
        providers.add(Arc::new(Fake("openai"))).unwrap();
        providers.add(Arc::new(Fake("scripted"))).unwrap();
        providers
    }

    fn refusal(name: &str) -> String {
        providers().resolve(name).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn a_name_is_split_at_its_first_slash() {
        let resolved = |name| {
            let (provider, model) = providers().resolve(name).unwrap();
            (provider.id().to_owned(), model)
        };
        assert_eq!(resolved("openai/gpt-x"), ("openai".to_owned(), "gpt-x"));
        assert_eq!(resolved("scripted//a/b.json"), ("scripted".to_owned(), "/a/b.json"));
    }

    #[test]
    fn a_name_without_a_provider_says_how_models_are_named() {
        let form = "a model is named provider/model, with one of the providers openai, scripted";
        let hints = [
            ("gpt-x", ""),
            ("", ""),
            ("/gpt-x", ""),
            ("openai", " (did you mean openai/<model>?)"),
            ("opneai/", " (did you mean openai/<model>?)"),
            ("scripted: a.json", " (did you mean scripted/a.json?)"),
        ];
        for (name, hint) in hints {
            assert_eq!(refusal(name), format!("{form}{hint}, got: {name}"));
        }
    }

    #[test]
    fn an_unknown_provider_says_which_there_are() {
        let known = "there is no such model provider, only openai, scripted";
        assert_eq!(refusal("acme/gpt-x"), format!("{known}, got: acme/gpt-x"));
        assert_eq!(refusal("opnai/gpt-x"), format!("{known} (did you mean openai/gpt-x?), got: opnai/gpt-x"));
    }

    #[test]
    fn a_provider_that_cannot_call_the_model_says_why() {
        assert_eq!(refusal("openai/keyless"), "no key");
    }

    #[test]
    fn providers_are_added_at_any_time_but_never_replaced() {
        let providers = providers();
        let clone = providers.clone();
        providers.add(Arc::new(Fake("acme"))).unwrap();
        assert!(clone.resolve("acme/gpt-x").is_ok());
        let refused = providers.add(Arc::new(Fake("openai")));
        assert_eq!(refused, Err(ProvidersError::Taken("openai".to_owned())));
        assert_eq!(
            ProvidersError::Taken("openai".to_owned()).to_string(),
            "there is a model provider of this id already, choose another: openai"
        );
    }
}
