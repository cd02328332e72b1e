//! The document that describes the API: what routes there are, and that each says how it fails.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use support::Daemon;

#[tokio::test]
async fn every_route_is_described_with_its_problems() {
    let daemon = Daemon::start().await;
    let answer = daemon.authed("GET", "/api/v1/openapi.json", b"").await;
    assert_eq!(answer.status, 200);
    let document: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    let (mut routes, mut names) = (vec![], std::collections::HashSet::new());
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            routes.push(format!("{} {path}", method.to_uppercase()));
            let problem = &operation["responses"]["default"]["content"]["application/problem+json"]["schema"]["$ref"];
            assert_eq!(problem, "#/components/schemas/Problem", "{method} {path}");
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} names two operations");
            assert!(operation["summary"].is_string(), "{method} {path} says what it is for");
        }
    }
    routes.sort();
    insta::assert_snapshot!(routes.join("\n"));
    assert_references(&document, &document);
}

/// Every `$ref` leads to a schema.
fn assert_references(document: &serde_json::Value, part: &serde_json::Value) {
    match part {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                if let ("$ref", Some(target)) = (name.as_str(), value.as_str()) {
                    assert!(document.pointer(target.trim_start_matches('#')).is_some(), "{target} is missing");
                }
                assert_references(document, value);
            }
        }
        serde_json::Value::Array(parts) => parts.iter().for_each(|part| assert_references(document, part)),
        _ => {}
    }
}
