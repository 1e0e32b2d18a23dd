use serde_json::{Value, json};

use super::{Error, ModApi, Registration, Result, services};

/// A named option of a mod, declared with [`ModApi::add_flag`], read with [`ModApi::get_flag`], and set with
/// `--mod-option <mod>.<flag>=<value>`, or `--mod-option <flag>=<value>` where no other mod had it first.
#[must_use = "a flag does nothing until it is given to `ModApi::add_flag`"]
pub struct Flag<T> {
    name: String,
    default: Option<T>,
    description: Option<String>,
}

/// What a flag's value can be: `bool`, `u64` or `String`.
pub trait FlagType: Sized + Into<Value> {
    /// The type's name on the wire.
    #[doc(hidden)]
    const KIND: &'static str;

    /// From what was typed.
    #[doc(hidden)]
    fn from_text(text: String) -> Result<Self>;
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
}

impl Flag<u64> {
    /// A flag that is a whole number from 0.
    pub fn number(name: impl Into<String>) -> Self {
        Self::new(name)
    }
}

impl Flag<String> {
    /// A flag that is a text.
    pub fn string(name: impl Into<String>) -> Self {
        Self::new(name)
    }
}

impl<T> Flag<T> {
    fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), default: None, description: None }
    }

    /// Its value where none is given.
    pub fn default(mut self, value: impl Into<T>) -> Self {
        self.default = Some(value.into());
        self
    }

    /// What people are told of it.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

impl ModApi {
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
    ///     cmd.add_flag(Flag::boolean("loud").description("Greets in capitals"))?;
    ///     cmd.add_flag(Flag::string("greeting").default("hello"))?;
    ///     cmd.add_flag(Flag::number("times").default(1u64))?;
    ///     let loud: bool = cmd.get_flag("loud")?.unwrap_or_default();
    ///     let greeting: String = cmd.get_flag("greeting")?.unwrap_or_default();
    ///     let times: u64 = cmd.get_flag("times")?.unwrap_or(1);
    ///     for _ in 0..times {
    ///         cmd.ui().notify(&if loud { greeting.to_uppercase() } else { greeting.clone() });
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// The harness is gone, or the mod did not load.
    pub fn add_flag<T: FlagType>(&self, flag: Flag<T>) -> Result<Registration> {
        let Flag { name, default, description } = flag;
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
