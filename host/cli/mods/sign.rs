//! Signing what is packed, with a secret key of minisign.

use std::{io, path::Path};

use anyhow::{Context as _, bail};
use minisign::{PublicKey, SecretKey, SecretKeyBox};

use crate::{cli::output::Usage, files};

/// What the second line of a secret key that no password protects begins with: the algorithm of signing, and none for
/// the password.
const UNPROTECTED: &str = "RWQAA";

/// Where the password of a key comes from. A key without one asks for none.
pub(super) enum Password<'a> {
    /// It was given.
    Given(&'a str),
    /// The user at the terminal types it, unseen.
    Asked,
    /// Nobody is there.
    Missing,
}

/// A key to sign with.
pub(super) struct Signer {
    secret: SecretKey,
    /// Its public half, as it stands in manifests and settings.
    pub(super) public: String,
}

impl Signer {
    /// Reads a key.
    pub(super) fn read(path: &Path, password: &Password<'_>) -> anyhow::Result<Self> {
        let text = files::read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
        let Some(encoded) = text.lines().nth(1) else {
            bail!("this is no secret key of minisign, make one with minisign -G, got: {}", path.display());
        };
        let boxed = SecretKeyBox::from_string(&text)?;
        let secret = if encoded.starts_with(UNPROTECTED) {
            boxed.into_unencrypted_secret_key()
        } else {
            boxed.into_secret_key(Some(password.get(path)?))
        };
        let secret = secret.with_context(|| format!("cannot use the secret key {}", path.display()))?;
        let public = PublicKey::from_secret_key(&secret)?.to_base64();
        Ok(Self { secret, public })
    }

    /// The signature of a text, in a file's form. `comment` is signed with it.
    pub(super) fn sign(&self, text: &str, comment: &str) -> minisign::Result<String> {
        let signed = minisign::sign(None, &self.secret, text.as_bytes(), Some(comment), None)?;
        Ok(signed.into_string())
    }
}

impl Password<'_> {
    fn get(&self, key: &Path) -> anyhow::Result<String> {
        match self {
            Self::Given(password) => Ok((*password).to_owned()),
            Self::Asked => {
                let asked: io::Result<_> = rpassword::prompt_password(format!("Password of {}: ", key.display()));
                asked.context("the password cannot be asked for")
            }
            Self::Missing => Err(Usage(format!(
                "the secret key has a password and nobody is here to be asked, set COMMANDCODE_SIGN_PASSWORD: {}",
                key.display()
            ))
            .into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use minisign::KeyPair;
    use minisign_verify::{PublicKey, Signature};

    use super::*;

    fn read(text: &str, password: &Password<'_>) -> Result<Signer, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, text).unwrap();
        Signer::read(&path, password)
            .map_err(|error| format!("{error:#}").replace(&folder.path().display().to_string(), "DIR"))
    }

    fn signs(signer: &Signer) {
        let text = signer.sign("the sums", "a-mod 1.0.0").unwrap();
        assert!(text.contains("trusted comment: a-mod 1.0.0\n"), "{text}");
        let key = PublicKey::from_base64(&signer.public).unwrap();
        key.verify(b"the sums", &Signature::decode(&text).unwrap(), false).unwrap();
    }

    #[test]
    fn a_key_without_a_password_signs() {
        let pair = KeyPair::generate_unencrypted_keypair().unwrap();
        let text = pair.sk.to_box(None).unwrap().into_string();
        signs(&read(&text, &Password::Missing).unwrap());
    }

    #[test]
    fn a_key_with_a_password_needs_it() {
        let pair = KeyPair::generate_encrypted_keypair(Some("secret".to_owned())).unwrap();
        let text = pair.sk.to_box(None).unwrap().into_string();
        signs(&read(&text, &Password::Given("secret")).unwrap());
        let told = |password| read(&text, &password).err();
        assert_eq!(
            told(Password::Given("wrong")).as_deref(),
            Some("cannot use the secret key DIR/key: Wrong password for that key")
        );
        assert_eq!(
            told(Password::Missing).as_deref(),
            Some(
                "the secret key has a password and nobody is here to be asked, set COMMANDCODE_SIGN_PASSWORD: DIR/key"
            )
        );
    }

    #[test]
    fn what_is_no_key_is_told() {
        let told = |text| read(text, &Password::Missing).err();
        assert_eq!(
            told("RWQ").as_deref(),
            Some("this is no secret key of minisign, make one with minisign -G, got: DIR/key")
        );
        assert!(told("comment\nRWQAAxx\n").unwrap().starts_with("cannot use the secret key DIR/key: "));
    }
}
