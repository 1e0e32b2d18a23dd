use std::sync::Arc;

/// Who a mod is, as far as calls need it.
#[derive(Debug)]
pub(crate) struct ModIdentity {
    /// Its place in load order.
    pub(crate) index: u16,
    /// Its name.
    pub(crate) name: Arc<str>,
    /// `mod:<name>`.
    pub(crate) id: Arc<str>,
}

impl ModIdentity {
    pub(crate) fn new(index: u16, name: &str) -> Self {
        Self { index, name: name.into(), id: format!("mod:{name}").into() }
    }
}
