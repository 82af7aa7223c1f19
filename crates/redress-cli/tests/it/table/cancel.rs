//! Calls that nobody wants any more, and calls that outlive their service.

use std::{sync::Arc, time::Duration};

use super::{
    face::Face as _,
    faces::{self, InProcess, command},
    rows::Row,
    site::{Marks, SOON, Site},
};

/// The test that the command runs in as well, in a process of its own.
pub(crate) const LEAVES: &str = "table::cancel::a_client_that_goes_away_cancels_its_call_on_every_face";

fn cancelled() -> Vec<Option<String>> {
    vec![Some("CANCELLED".to_owned())]
}

/// Waits until no handler is left.
async fn let_go(marks: &Arc<Marks>, what: &str) {
    let gone = async {
        while marks.is_running() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, gone).await.unwrap_or_else(|_| panic!("{what}: the handler is still there"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_cancels_its_call_on_every_face() {
    if tokio::task::block_in_place(command::is_a_command) {
        return;
    }
    for row in [Row::that_waits(), Row::stream_that_waits()] {
        let mut told = Vec::new();
        for face in faces::all().into_iter().filter(|face| face.carries(&row)) {
            let what = format!("{} by {}", row.name, face.name());
            let site = Site::start(Duration::from_secs(5)).await;
            let left = tokio::time::timeout(SOON, face.leave(&site, &row)).await;
            let left = left.unwrap_or_else(|_| panic!("{what} does not end"));
            let_go(&site.marks, &what).await;
            // Only when nothing runs any more is it certain that no second ending follows.
            let marks = site.stopped().await;
            let mut endings = marks.endings();
            if face.name() == "call" {
                // Its process has its own observers, and looks at what they saw by itself.
                assert_eq!(endings, [], "{what}");
            } else {
                let last = endings.split_off(face.calls(&row) - 1);
                assert_eq!(last, cancelled(), "{what}");
            }
            if let Some(outcome) = left {
                assert_eq!(outcome.code(), Some("CANCELLED"), "{what}");
                told.push(outcome);
            }
        }
        assert!(!told.is_empty() && told.iter().all(|outcome| *outcome == told[0]), "{told:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_outlives_its_service_is_cancelled_in_the_same_way_on_every_face() {
    let row = Row::that_waits();
    let expected = {
        let site = Site::start(Duration::ZERO).await;
        InProcess.leave(&site, &row).await.unwrap()
    };
    let faces = faces::all();
    let faces = faces.iter().filter(|face| face.carries(&row) && face.outlives_its_service());
    for face in faces {
        let site = Site::start(Duration::from_millis(20)).await;
        let asked = async {
            tokio::join!(face.ask(&site, &row), async {
                site.marks.begun().await;
                site.stop();
            })
        };
        let (outcome, ()) = tokio::time::timeout(SOON, asked).await.expect("the call is answered");
        assert_eq!(outcome, expected, "by {}", face.name());
        assert!(!site.marks.is_running(), "by {}", face.name());
        site.canary.assert_clean();
        assert_eq!(site.stopped().await.endings(), cancelled(), "by {}", face.name());
    }
}
