use std::marker::PhantomData;

use serde_json::{Value, json};

use super::{Error, ModApi, Registration, Result, services};

/// A named option of a mod, declared and read with [`ModApi::flag`], and set with
/// `--mod-option <mod>.<flag>=<value>`, or `--mod-option <flag>=<value>` where no other mod had it first.
///
/// `V` is what it is read as: a `T` where it has a default, else an `Option<T>`.
#[must_use = "a flag does nothing until it is given to `ModApi::flag` or `ModApi::add_flag`"]
pub struct Flag<T, V = Option<T>> {
    name: String,
    default: Option<T>,
    description: Option<String>,
    value: PhantomData<fn() -> V>,
}

/// What a flag's value can be: `bool`, `u64` or `String`.
pub trait FlagType: Clone + Default + Into<Value> {
    /// The type's name on the wire.
    #[doc(hidden)]
    const KIND: &'static str;

    /// From what was typed.
    #[doc(hidden)]
    fn from_text(text: String) -> Result<Self>;
}

/// What a flag is read as: a [`FlagType`] where it has a default, else an `Option` of one.
pub trait FlagValue<T> {
    /// From what was given, and the default where nothing was.
    #[doc(hidden)]
    fn of(value: Option<T>) -> Self;
}

impl<T: FlagType> FlagValue<T> for T {
    fn of(value: Option<T>) -> Self {
        // There is one: a flag that is read as this has a default.
        value.unwrap_or_default()
    }
}

impl<T: FlagType> FlagValue<T> for Option<T> {
    fn of(value: Option<T>) -> Self {
        value
    }
}

impl FlagType for bool {
    const KIND: &'static str = "boolean";

    fn from_text(text: String) -> Result<Self> {
        text.parse().map_err(|_| Error::msg(format!("a boolean is true or false, got: {text}")))
    }
}

impl FlagType for u64 {
    const KIND: &'static str = "number";

    fn from_text(text: String) -> Result<Self> {
        text.parse().map_err(|_| Error::msg(format!("a number is a whole one from 0, got: {text}")))
    }
}

impl FlagType for String {
    const KIND: &'static str = "string";

    fn from_text(text: String) -> Result<Self> {
        Ok(text)
    }
}

impl Flag<bool> {
    /// A flag that is `true` or `false`.
    pub fn boolean(name: impl Into<String>) -> Self {
        Self::new(name)
    }

    /// Its value where none is given.
    pub fn default(self, value: bool) -> Flag<bool, bool> {
        self.or(value)
    }
}

impl Flag<u64> {
    /// A flag that is a whole number from 0.
    pub fn number(name: impl Into<String>) -> Self {
        Self::new(name)
    }

    /// Its value where none is given.
    pub fn default(self, value: u64) -> Flag<u64, u64> {
        self.or(value)
    }
}

impl Flag<String> {
    /// A flag that is a text.
    pub fn string(name: impl Into<String>) -> Self {
        Self::new(name)
    }

    /// Its value where none is given.
    pub fn default(self, value: impl Into<String>) -> Flag<String, String> {
        self.or(value.into())
    }
}

impl<T> Flag<T> {
    fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), default: None, description: None, value: PhantomData }
    }

    fn or(self, default: T) -> Flag<T, T> {
        let Self { name, description, .. } = self;
        Flag { name, default: Some(default), description, value: PhantomData }
    }
}

impl<T, V> Flag<T, V> {
    /// What people are told of it.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

impl ModApi {
    /// Declares a flag, as [`Self::add_flag`] does, and reads it, as [`Self::get_flag`]: as a `bool`, a `u64` or a
    /// `String` where it has a default, else as an `Option` of one.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn greeter(cmd: ModApi) -> Result<()> {
    ///     let loud = cmd.flag(Flag::boolean("loud").default(false).description("Greets in capitals"))?;
    ///     let name = cmd.flag(Flag::string("name").description("Who is greeted"))?;
    ///     let greeting = name.map_or("hello".to_owned(), |name| format!("hello, {name}"));
    ///     cmd.ui().notify(&if loud { greeting.to_uppercase() } else { greeting });
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// As for both.
    pub fn flag<T: FlagType, V: FlagValue<T>>(&self, flag: Flag<T, V>) -> Result<V> {
        let (name, default) = (flag.name.clone(), flag.default.clone());
        self.add_flag(flag)?;
        Ok(V::of(self.get_flag(&name)?.or(default)))
    }

    /// Declares a flag. Its name is of `a-z`, `A-Z`, `0-9`, `_` and `-`.
    ///
    /// Each mod has flags of its own. Where two mods declare the same name, the bare option is for the first, and
    /// a notice says so. A second one of that name of the same mod, or a name that is none, is told as a `mod_error`;
    /// the registration then [is not active](Registration::is_active). An option whose value is none of its flag ends
    /// the start. Disposing it forgets type and default, and not the option.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn greeter(cmd: ModApi) -> Result<()> {
    ///     cmd.add_flag(Flag::string("greeting").default("hello"))?;
    ///     let api = cmd.clone();
    ///     cmd.on(EventKind::RunStart, move |event| {
    ///         let greeting: String = api.get_flag("greeting")?.unwrap_or_default();
    ///         event.ctx().ui().notify(&greeting);
    ///         Ok(())
    ///     })?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// The harness is gone, or the mod did not load.
    pub fn add_flag<T: FlagType, V>(&self, flag: Flag<T, V>) -> Result<Registration> {
        let Flag { name, default, description, .. } = flag;
        let default = default.map(T::into);
        let flag = json!({ "name": name, "type": T::KIND, "default": default, "description": description });
        Registration::asked(self.frame(), "flag.add", &flag)
    }

    /// The value of a flag, as a `bool`, a `u64` or a `String`: that of `--mod-option`, else its default, else `None`.
    ///
    /// It works at any time, in the factory too. For a flag that this mod has not declared (yet) it is what
    /// `--mod-option` says.
    ///
    /// # Errors
    /// A `bool` was asked for, and the value is neither `true` nor `false`; a `u64`, and it is none; or the harness is
    /// gone.
    pub fn get_flag<T: FlagType>(&self, name: &str) -> Result<Option<T>> {
        let value = services::now(self.frame(), "flag", &json!({ "name": name }))?;
        let text: Option<String> = serde_json::from_value(value)?;
        text.map(T::from_text).transpose()
    }
}
