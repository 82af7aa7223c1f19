use super::{batch::AHEAD, *};
use futures_util::{FutureExt as _, poll};

const LIMITS: BudgetLimits = BudgetLimits { connection: 100, caller: 150, all: 200 };

fn room(account: &Account, caller: &str) -> AnswerRoom {
    AnswerRoom::new(account.clone(), Some(&Caller::new(caller)), None)
}

fn is_empty(budget: &Budget) -> bool {
    let state = budget.0.state();
    state.all.held == 0 && state.all.waiting.is_empty() && state.callers.is_empty() && state.connections.is_empty()
}

#[tokio::test]
async fn no_connection_caller_or_service_holds_more_than_its_part_and_one_answer_always_fits() {
    let budget = Budget::new(LIMITS);
    let (one, two, three) = (budget.connection(), budget.connection(), budget.connection());
    let large = room(&one, "ada");
    assert!(large.try_reserve(1000), "where nothing is held, one answer fits whatever it has");
    assert!(!room(&one, "bob").try_reserve(1), "its connection is full");
    assert!(!room(&two, "ada").try_reserve(1), "its caller has too much");
    assert!(!room(&two, "bob").try_reserve(1), "there is too much in all");
    large.give_back();
    let rooms = [room(&one, "ada"), room(&two, "ada")];
    assert!(rooms[0].try_reserve(90) && rooms[1].try_reserve(60));
    assert!(!room(&three, "ada").try_reserve(1) && room(&three, "bob").try_reserve(50));
    assert_eq!((budget.usage().held, budget.usage().peak), (150, 1000));
    drop(rooms);
    assert!(is_empty(&budget));
}

#[tokio::test]
async fn who_waits_is_let_in_in_its_order_and_who_leaves_leaves_nothing_behind() {
    let budget = Budget::new(LIMITS);
    let account = budget.connection();
    let rooms: Vec<AnswerRoom> = (0..4).map(|_| room(&account, "ada")).collect();
    assert!(rooms[0].try_reserve(80));
    let mut waiting: Vec<_> = rooms.iter().skip(1).map(|room| Box::pin(room.reserve(60))).collect();
    for future in &mut waiting {
        assert!(poll!(future).is_pending());
    }
    rooms[0].give_back();
    // The first of them was let in before it has looked, and leaves: what it was given goes to the next.
    drop(waiting.remove(0));
    assert!(poll!(&mut waiting[0]).is_ready());
    assert!(poll!(&mut waiting[1]).is_pending());
    drop(waiting);
    assert_eq!(budget.usage().held, 60);
    drop(rooms);
    assert!(is_empty(&budget));
}

#[tokio::test]
async fn an_answer_that_grows_holds_nothing_while_it_waits() {
    let budget = Budget::new(LIMITS);
    let account = budget.connection();
    let (one, two) = (room(&account, "ada"), room(&account, "ada"));
    assert!(one.try_reserve(40) && two.try_reserve(40));
    assert!(one.try_reserve(60) && !one.try_reserve(90));
    let (mut first, mut second) = (Box::pin(one.reserve(90)), Box::pin(two.reserve(90)));
    assert!(poll!(&mut first).is_pending());
    // Both want more than there is: since the first holds nothing by now, the second goes on.
    assert!(poll!(&mut second).is_ready());
    drop(second);
    drop(two.hold(90));
    first.await;
    assert_eq!((one.reserved(), budget.usage().waited), (90, 1));
}

#[tokio::test]
async fn a_later_call_of_a_batch_never_holds_what_an_earlier_one_waits_for() {
    let budget = Budget::new(BudgetLimits { connection: 4 * AHEAD, caller: 8 * AHEAD, all: 8 * AHEAD });
    let (account, order) = (budget.connection(), Arc::new(BatchOrder::default()));
    let member = |number| room(&account.member(&order, number), "ada");
    let (first, second, third) = (member(0), member(1), member(2));
    assert!(second.try_reserve(AHEAD / 2), "a little may be charged ahead");
    let mut waits = Box::pin(third.reserve(3 * AHEAD));
    assert!(poll!(&mut waits).is_pending());
    assert!(first.try_reserve(4 * AHEAD), "the first has its connection for itself");
    let answer = first.hold(4 * AHEAD);
    order.ended(1);
    assert!(poll!(&mut waits).is_pending());
    order.ended(0);
    assert!(poll!(&mut waits).is_pending(), "its turn has come, and now it waits for the connection");
    drop(answer);
    waits.await;
    drop((second, third));
    assert!(is_empty(&budget));
}

#[tokio::test]
async fn a_message_is_charged_for_its_copies_until_it_is_written_and_for_itself_from_then_on() {
    let budget = Budget::new(LIMITS);
    let account = budget.connection().message(4);
    assert!(account.settle(10).is_none(), "nothing is charged yet");
    let (one, two) = (room(&account, "ada"), room(&account, "ada"));
    assert!(one.try_reserve(15));
    assert_eq!((one.reserved(), budget.usage().held), (15, 60));
    drop(one.hold(10));
    assert_eq!(budget.usage().held, 40, "the message is still to be written");
    assert!(two.try_reserve(5));
    drop(two.hold(5));
    assert_eq!(budget.usage().held, 60);
    let message = account.settle(45);
    assert_eq!(budget.usage().held, 45);
    drop(account);
    assert_eq!(budget.usage().held, 45, "the message is there for longer than its calls");
    drop(message);
    assert!(is_empty(&budget));
}

#[tokio::test]
async fn the_answers_of_one_message_do_not_wait_for_each_other_at_their_connection() {
    let budget = Budget::new(LIMITS);
    let account = budget.connection().message(1);
    let (one, two) = (room(&account, "ada"), room(&account, "ada"));
    assert!(one.try_reserve(80) && two.try_reserve(60), "the connection has 100");
    assert!(!room(&account, "ada").try_reserve(60), "the caller has 150");
    drop((one, two));
    assert!(is_empty(&budget));
}

#[tokio::test]
async fn limits_that_are_raised_let_in_who_waits() {
    let budget = Budget::new(LIMITS);
    let account = budget.connection();
    let (one, two) = (room(&account, "ada"), room(&account, "ada"));
    assert!(one.try_reserve(80));
    let mut waits = Box::pin(two.reserve(60));
    assert!((&mut waits).now_or_never().is_none());
    budget.set_limits(BudgetLimits { connection: 200, ..LIMITS });
    waits.await;
    assert_eq!(budget.usage().held, 140);
}
