use super::{add, at_version, code, mods};
use crate::{
    fetch::{
        FetchOptions,
        fixtures::{Registry, has},
    },
    fixtures::Mod,
    lock::Lock,
};
use std::{fs, time::Duration};

#[test]
fn a_package_of_npm_is_installed_and_locked() {
    if !has("npm") {
        return;
    }
    let (registry, scope) = (Registry::start(), tempfile::tempdir().unwrap());
    registry.publish_mod("@team/review-mod", &at_version("1.2.0"));
    registry.publish_mod("@team/review-mod", &at_version("1.3.0"));
    registry.publish_mod("@team/review-mod", &at_version("2.0.0"));
    let done = add(scope.path(), "npm:@team/review-mod@^1.2", &registry.options()).unwrap();
    assert_eq!((done.id.as_str(), done.resolved.as_deref()), ("npm:@team/review-mod", Some("1.3.0")));
    assert_eq!(mods(scope.path()), ["review-guard 1.3.0"]);
    let lock = Lock::read(scope.path()).unwrap();
    let entry = lock.get("npm:@team/review-mod").unwrap();
    assert_eq!(entry.source, "npm:@team/review-mod@^1.2");
    assert_eq!(entry.registry.as_deref(), Some(registry.url.as_str()));
    assert_eq!(entry.highest.as_deref(), Some("1.3.0"));
    assert!(entry.integrity.as_deref().is_some_and(|text| text.starts_with("sha512-")));
    let asked = registry.asked();
    mods(scope.path());
    assert_eq!(registry.asked(), asked, "a start asked the registry");
}

#[test]
fn threat_16_no_script_of_a_package_is_run() {
    if !has("npm") {
        return;
    }
    let (registry, dir) = (Registry::start(), tempfile::tempdir().unwrap());
    let marker = dir.path().join("PWNED");
    let names = ["preinstall", "install", "postinstall", "prepack", "prepare", "postpack", "prepublish"];
    let scripts: serde_json::Map<_, _> =
        names.iter().map(|name| ((*name).to_owned(), format!("touch {}", marker.display()).into())).collect();
    let json = serde_json::json!({"name": "scripted", "version": "1.0.0", "scripts": scripts});
    let packed = Mod::default().pack(dir.path());
    let root = dir.path().join("out");
    let mut files: std::collections::BTreeMap<String, Vec<u8>> =
        crate::archive::unpack(&fs::read(packed).unwrap(), &root)
            .unwrap()
            .into_keys()
            .map(|path| (path.clone(), fs::read(root.join(path)).unwrap()))
            .collect();
    files.insert("package.json".to_owned(), serde_json::to_vec(&json).unwrap());
    registry.publish("scripted", "1.0.0", crate::archive::pack(&files).unwrap());
    assert_eq!(code(add(&dir.path().join("scope"), "scripted", &registry.options())), "ok");
    assert!(!marker.exists());
}

#[test]
fn threat_8_the_settings_of_a_project_do_not_choose_the_registry() {
    if !has("npm") {
        return;
    }
    let (registry, project) = (Registry::start(), tempfile::tempdir().unwrap());
    registry.publish_mod("review-mod", &at_version("1.2.0"));
    fs::write(project.path().join(".npmrc"), "registry=http://127.0.0.1:9/\n").unwrap();
    fs::write(project.path().join("package.json"), "{}").unwrap();
    let scope = project.path().join(".commandcode");
    assert_eq!(code(add(&scope, "npm:review-mod", &registry.options())), "ok");
    let elsewhere = Registry::start();
    elsewhere.publish_mod("review-mod", &at_version("1.3.0"));
    assert_eq!(code(add(&scope, "npm:review-mod", &elsewhere.options())), "E_REGISTRY_CHANGED");
    assert_eq!(mods(&scope), ["review-guard 1.2.0"]);
}

#[test]
fn what_npm_cannot_get_has_a_code_of_its_own() {
    if !has("npm") {
        return;
    }
    let (registry, scope) = (Registry::start(), tempfile::tempdir().unwrap());
    let options = registry.options();
    registry.publish_mod("corrupt-mod", &at_version("1.0.0"));
    registry.publish_mod("good-mod", &at_version("1.0.0"));
    assert_eq!(code(add(scope.path(), "npm:none", &options)), "E_FETCH");
    assert_eq!(code(add(scope.path(), "npm:good-mod@9", &options)), "E_FETCH");
    assert_eq!(code(add(scope.path(), "npm:corrupt-mod", &options)), "E_INTEGRITY");
    let slow = FetchOptions { timeout: Duration::ZERO, ..options.clone() };
    assert_eq!(code(add(scope.path(), "npm:good-mod", &slow)), "E_TIMEOUT");
    let none = FetchOptions { env: vec![("PATH".into(), "/nowhere".into())], ..options };
    assert_eq!(code(add(scope.path(), "npm:good-mod", &none)), "E_NPM_MISSING");
    assert_eq!(code(add(scope.path(), "owner/repo", &none)), "E_GIT_MISSING");
    assert!(!Lock::path(scope.path()).exists());
}

#[test]
fn conformance_11_offline_takes_what_is_cached_and_asks_nobody() {
    if !has("npm") {
        return;
    }
    let (registry, scope) = (Registry::start(), tempfile::tempdir().unwrap());
    registry.publish_mod("review-mod", &at_version("1.2.0"));
    let offline = FetchOptions { offline: true, ..registry.options() };
    assert_eq!(code(add(scope.path(), "npm:review-mod", &offline)), "E_OFFLINE");
    assert_eq!(code(add(scope.path(), "owner/repo", &offline)), "E_OFFLINE");
    assert_eq!(registry.asked(), 0);
    add(scope.path(), "npm:review-mod", &registry.options()).unwrap();
    let asked = registry.asked();
    let other = tempfile::tempdir().unwrap();
    assert_eq!(code(add(other.path(), "npm:review-mod", &offline)), "ok");
    assert_eq!(registry.asked(), asked);
}

#[test]
fn the_registry_of_a_scope_is_the_one_that_is_locked() {
    if !has("npm") {
        return;
    }
    let (registry, dir) = (Registry::start(), tempfile::tempdir().unwrap());
    registry.publish_mod("@team/review-mod", &at_version("1.0.0"));
    let mut options = registry.options();
    let rc = dir.path().join("npmrc");
    let text = format!("registry=http://127.0.0.1:9/\n@team:registry={}\nfetch-retries=0\n", registry.url);
    fs::write(&rc, text).unwrap();
    options.env[0].1 = rc.into();
    let scope = dir.path().join("scope");
    add(&scope, "@team/review-mod", &options).unwrap();
    let lock = Lock::read(&scope).unwrap();
    assert_eq!(lock.packages()[0].registry.as_deref(), Some(registry.url.as_str()));
}

#[test]
fn threat_19_a_password_in_the_address_of_a_registry_goes_into_no_file_and_no_message() {
    if !has("npm") {
        return;
    }
    let (registry, dir) = (Registry::start(), tempfile::tempdir().unwrap());
    registry.publish_mod("review-mod", &at_version("1.0.0"));
    let mut options = registry.options();
    let rc = dir.path().join("npmrc");
    let with_password = registry.url.replace("://", "://user:secret@");
    fs::write(&rc, format!("registry={with_password}\nfetch-retries=0\nupdate-notifier=false\n")).unwrap();
    options.env[0].1 = rc.into();
    let scope = dir.path().join("scope");
    let told = format!("{:?}", add(&scope, "npm:none", &options).unwrap_err());
    assert!(!told.contains("secret"), "{told}");
    let told = format!("{:?}", add(&scope, "npm:review-mod", &options));
    assert!(!told.contains("secret"), "{told}");
    let lock = fs::read_to_string(Lock::path(&scope)).unwrap_or_default();
    assert!(!lock.contains("secret") && !lock.contains("user:"), "{lock}");
}
