//! Routines that run as somebody else than who calls them, or with other settings: SECURITY DEFINER and SET.
//!
//! Relies on: `eval` for what a host is asked.  Promises: what depends on the role and the settings of a session is told from
//! what does not, in two lists that together are all that a session is asked; a host in a guise passes on the second.  Does
//! not: say which role owns what, or what a setting means; the session does.

use quintet_base::RoleId;

/// What a routine has of its own while it runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Guise {
    /// Whose privileges count: its owner's.
    pub role: Option<RoleId>,
    /// Names and values, as SET takes them.
    pub settings: Vec<(String, String)>,
    /// It is a trigger's, or an action of a foreign key, and somebody counts them.
    pub trigger: bool,
}

/// Methods of a host that passes on to `self.host` what depends on the role or the settings.
#[macro_export]
macro_rules! ask_as_whoever_it_is {
    () => {
        fn format(&self) -> &::quintet_base::text_format::FormatContext {
            self.host.format()
        }

        fn setting(&self, name: &str) -> Option<String> {
            self.host.setting(name)
        }

        fn set_setting(
            &self,
            name: &str,
            value: &str,
            local: bool,
        ) -> ::quintet_base::SqlResult<String> {
            self.host.set_setting(name, value, local)
        }

        fn user(&self) -> &str {
            self.host.user()
        }

        fn role(&self) -> ::quintet_base::RoleId {
            self.host.role()
        }

        fn is_restricted(&self) -> bool {
            self.host.is_restricted()
        }

        fn is_replica(&self) -> bool {
            self.host.is_replica()
        }

        fn hides_rows(
            &self,
            table: ::quintet_base::TableId,
            role: Option<::quintet_base::RoleId>,
        ) -> ::quintet_base::SqlResult<bool> {
            self.host.hides_rows(table, role)
        }

        fn is_one_of(&self, roles: &[::quintet_base::RoleId]) -> bool {
            self.host.is_one_of(roles)
        }

        fn allow(&self, needs: &[$crate::Need]) -> ::quintet_base::SqlResult<()> {
            self.host.allow(needs)
        }

        fn guised<'h>(
            &'h self,
            guises: &[&$crate::guise::Guise],
        ) -> ::quintet_base::SqlResult<Box<dyn $crate::Host + 'h>> {
            self.host.guised(guises)
        }

        fn plan(
            &self,
            text: &str,
            types: &[::quintet_base::SqlType],
        ) -> ::quintet_base::SqlResult<$crate::dynamic::Planned> {
            self.host.plan(text, types)
        }

        fn schema(&self) -> &str {
            self.host.schema()
        }

        fn nextval(&self, sequence: ::quintet_base::SequenceId) -> ::quintet_base::SqlResult<i64> {
            self.host.nextval(sequence)
        }

        fn currval(&self, sequence: ::quintet_base::SequenceId) -> ::quintet_base::SqlResult<i64> {
            self.host.currval(sequence)
        }

        fn lastval(&self) -> ::quintet_base::SqlResult<i64> {
            self.host.lastval()
        }

        fn setval(
            &self,
            sequence: ::quintet_base::SequenceId,
            value: i64,
            is_called: bool,
        ) -> ::quintet_base::SqlResult<i64> {
            self.host.setval(sequence, value, is_called)
        }

        fn notice(&self, severity: &'static str, message: ::quintet_base::SqlError) {
            self.host.notice(severity, message);
        }

        fn is_alone(&self) -> bool {
            self.host.is_alone()
        }

        fn trigger_depth(&self) -> usize {
            self.host.trigger_depth()
        }

        fn statement_memory(&self) -> usize {
            self.host.statement_memory()
        }

        fn kept_memory(&self) -> usize {
            self.host.kept_memory()
        }
    };
}

/// Methods of a host that passes on to `self.host` what is the same for every role and under all settings.
#[macro_export]
macro_rules! ask_the_session {
    () => {
        fn transaction_time(&self) -> i64 {
            self.host.transaction_time()
        }

        fn statement_time(&self) -> i64 {
            self.host.statement_time()
        }

        fn clock_time(&self) -> i64 {
            self.host.clock_time()
        }

        fn notify(&self, channel: &str, payload: &str) -> ::quintet_base::SqlResult<()> {
            self.host.notify(channel, payload)
        }

        fn notified(&self) -> usize {
            self.host.notified()
        }

        fn notify_no_more(&self, notified: usize) {
            self.host.notify_no_more(notified);
        }

        fn put_off(
            &self,
            trigger: u32,
            deferred: bool,
            arguments: &[&::quintet_base::Value],
        ) -> ::quintet_base::SqlResult<bool> {
            self.host.put_off(trigger, deferred, arguments)
        }

        fn put_off_so_far(&self) -> $crate::PutOffSoFar {
            self.host.put_off_so_far()
        }

        fn put_off_no_more(&self, so_far: $crate::PutOffSoFar) {
            self.host.put_off_no_more(so_far);
        }

        fn program(
            &self,
            routine: ::quintet_base::RoutineId,
        ) -> ::quintet_base::SqlResult<::std::sync::Arc<$crate::Program>> {
            self.host.program(routine)
        }

        fn cursors(&self) -> Option<&::std::cell::RefCell<$crate::cursors::Cursors>> {
            self.host.cursors()
        }

        fn is_portal(&self, name: &str) -> bool {
            self.host.is_portal(name)
        }

        fn current_of(
            &self,
            cursor: &str,
            table: ::quintet_base::TableId,
            called: &str,
        ) -> ::quintet_base::SqlResult<Vec<::quintet_base::Value>> {
            self.host.current_of(cursor, table, called)
        }

        fn set_seed(&self, bits: u64) -> ::quintet_base::SqlResult<()> {
            self.host.set_seed(bits)
        }

        fn session_user(&self) -> &str {
            self.host.session_user()
        }

        fn role_name(&self, role: ::quintet_base::RoleId) -> String {
            self.host.role_name(role)
        }

        fn is_overdue(&self) -> bool {
            self.host.is_overdue()
        }

        fn has_given_up(&self) -> bool {
            self.host.has_given_up()
        }

        fn database(&self) -> &str {
            self.host.database()
        }

        fn random(&self) -> u64 {
            self.host.random()
        }

        fn secret(&self) -> [u8; 16] {
            self.host.secret()
        }

        fn sequence_state(
            &self,
            sequence: ::quintet_base::SequenceId,
        ) -> ::quintet_base::SqlResult<$crate::SequenceState> {
            self.host.sequence_state(sequence)
        }

        fn process_id(&self) -> i32 {
            self.host.process_id()
        }

        fn large_object_number(&self) -> ::quintet_base::SqlResult<u32> {
            self.host.large_object_number()
        }

        fn transaction_number(&self) -> SqlResult<i64> {
            self.host.transaction_number()
        }

        fn notices(&self) -> usize {
            self.host.notices()
        }

        fn forget_notices(&self, from: usize) {
            self.host.forget_notices(from);
        }

        fn is_read_only(&self) -> bool {
            self.host.is_read_only()
        }

        fn spill(&self) -> ::quintet_base::SqlResult<Box<dyn $crate::Spill>> {
            self.host.spill()
        }
    };
}
