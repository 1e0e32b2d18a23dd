//! Whose reasoning is whose.
//!
//! A provider takes back nothing but what it signed itself, and a conversation may go on with another one. So the
//! signature that is kept names who made it, in front of a colon, which no such value begins with.

use mod_interface::types::ContentBlock;

/// The signature to keep for what `maker` gave.
pub(super) fn sign(maker: &str, value: &str) -> String {
    format!("{maker}:{value}")
}

/// What `maker` gave, where the block is its own.
pub(super) fn signed_by<'b>(maker: &str, block: &'b ContentBlock) -> Option<(&'b str, &'b str)> {
    let ContentBlock::Thinking { thinking, signature: Some(signature) } = block else { return None };
    let value = signature.strip_prefix(maker)?.strip_prefix(':')?;
    Some((thinking, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_knows_its_own_reasoning() {
        let block =
            |signature: Option<String>| ContentBlock::Thinking { thinking: "hm".to_owned(), signature };
        let own = block(Some(sign("a", "x:y")));
        assert_eq!(signed_by("a", &own), Some(("hm", "x:y")));
        assert_eq!(signed_by("ab", &own), None);
        assert_eq!(signed_by("a", &block(Some("ab:x".to_owned()))), None);
        assert_eq!(signed_by("a", &block(None)), None);
        assert_eq!(signed_by("a", &ContentBlock::text("a:x")), None);
    }
}
