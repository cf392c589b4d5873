//! Names of error conditions, as PL/pgSQL writes them.
//!
//! Relies on: nothing.  Promises: the names of errors that PostgreSQL 15 knows (its appendix A; names of
//! warnings are none for EXCEPTION and RAISE), with their SQLSTATEs; of names with several states RAISE takes
//! the first.  Does not: name what only Quintet has.

use crate::routine::Condition;
use quintet_base::SqlState;

/// The SQLSTATE that RAISE gives to a condition's name, or to five characters that are one.
pub fn condition_state(name: &str) -> Option<SqlState> {
    literal(name).or_else(|| states(name).next())
}

/// What a name in EXCEPTION WHEN stands for, or a state in its quotes; none if nobody has it.
pub fn conditions(name: &str) -> Vec<Condition> {
    if name == "others" {
        return vec![Condition::Others];
    }
    let covered = |state: SqlState| match state.0 {
        [first, second, b'0', b'0', b'0'] => Condition::Class([first, second]),
        _ => Condition::State(state),
    };
    match literal(name) {
        Some(state) => vec![covered(state)],
        None => states(name).map(covered).collect(),
    }
}

/// A state that is written as such: no name is in capitals or begins with a digit.
fn literal(name: &str) -> Option<SqlState> {
    let code: [u8; 5] = name.as_bytes().try_into().ok()?;
    let fits = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    code.iter().all(fits).then_some(SqlState(code))
}

/// All states of a condition's name: a few names have two.
fn states(name: &str) -> impl Iterator<Item = SqlState> {
    let named = CONDITIONS.iter().filter(move |(known, _)| *known == name);
    named.map(|(_, code)| SqlState(**code))
}

/// Names with their states, by state.
#[rustfmt::skip]
static CONDITIONS: &[(&str, &[u8; 5])] = &[
    ("sql_statement_not_yet_complete", b"03000"),
    ("connection_exception", b"08000"),
    ("connection_does_not_exist", b"08003"),
    ("connection_failure", b"08006"),
    ("sqlclient_unable_to_establish_sqlconnection", b"08001"),
    ("sqlserver_rejected_establishment_of_sqlconnection", b"08004"),
    ("transaction_resolution_unknown", b"08007"),
    ("protocol_violation", b"08P01"),
    ("triggered_action_exception", b"09000"),
    ("feature_not_supported", b"0A000"),
    ("invalid_transaction_initiation", b"0B000"),
    ("locator_exception", b"0F000"),
    ("invalid_locator_specification", b"0F001"),
    ("invalid_grantor", b"0L000"),
    ("invalid_grant_operation", b"0LP01"),
    ("invalid_role_specification", b"0P000"),
    ("diagnostics_exception", b"0Z000"),
    ("stacked_diagnostics_accessed_without_active_handler", b"0Z002"),
    ("case_not_found", b"20000"),
    ("cardinality_violation", b"21000"),
    ("data_exception", b"22000"),
    ("array_subscript_error", b"2202E"),
    ("character_not_in_repertoire", b"22021"),
    ("datetime_field_overflow", b"22008"),
    ("division_by_zero", b"22012"),
    ("error_in_assignment", b"22005"),
    ("escape_character_conflict", b"2200B"),
    ("indicator_overflow", b"22022"),
    ("interval_field_overflow", b"22015"),
    ("invalid_argument_for_logarithm", b"2201E"),
    ("invalid_argument_for_ntile_function", b"22014"),
    ("invalid_argument_for_nth_value_function", b"22016"),
    ("invalid_argument_for_power_function", b"2201F"),
    ("invalid_argument_for_width_bucket_function", b"2201G"),
    ("invalid_character_value_for_cast", b"22018"),
    ("invalid_datetime_format", b"22007"),
    ("invalid_escape_character", b"22019"),
    ("invalid_escape_octet", b"2200D"),
    ("invalid_escape_sequence", b"22025"),
    ("nonstandard_use_of_escape_character", b"22P06"),
    ("invalid_indicator_parameter_value", b"22010"),
    ("invalid_parameter_value", b"22023"),
    ("invalid_preceding_or_following_size", b"22013"),
    ("invalid_regular_expression", b"2201B"),
    ("invalid_row_count_in_limit_clause", b"2201W"),
    ("invalid_row_count_in_result_offset_clause", b"2201X"),
    ("invalid_tablesample_argument", b"2202H"),
    ("invalid_tablesample_repeat", b"2202G"),
    ("invalid_time_zone_displacement_value", b"22009"),
    ("invalid_use_of_escape_character", b"2200C"),
    ("most_specific_type_mismatch", b"2200G"),
    ("null_value_not_allowed", b"22004"),
    ("null_value_no_indicator_parameter", b"22002"),
    ("numeric_value_out_of_range", b"22003"),
    ("sequence_generator_limit_exceeded", b"2200H"),
    ("string_data_length_mismatch", b"22026"),
    ("string_data_right_truncation", b"22001"),
    ("substring_error", b"22011"),
    ("trim_error", b"22027"),
    ("unterminated_c_string", b"22024"),
    ("zero_length_character_string", b"2200F"),
    ("floating_point_exception", b"22P01"),
    ("invalid_text_representation", b"22P02"),
    ("invalid_binary_representation", b"22P03"),
    ("bad_copy_file_format", b"22P04"),
    ("untranslatable_character", b"22P05"),
    ("not_an_xml_document", b"2200L"),
    ("invalid_xml_document", b"2200M"),
    ("invalid_xml_content", b"2200N"),
    ("invalid_xml_comment", b"2200S"),
    ("invalid_xml_processing_instruction", b"2200T"),
    ("duplicate_json_object_key_value", b"22030"),
    ("invalid_argument_for_sql_json_datetime_function", b"22031"),
    ("invalid_json_text", b"22032"),
    ("invalid_sql_json_subscript", b"22033"),
    ("more_than_one_sql_json_item", b"22034"),
    ("no_sql_json_item", b"22035"),
    ("non_numeric_sql_json_item", b"22036"),
    ("non_unique_keys_in_a_json_object", b"22037"),
    ("singleton_sql_json_item_required", b"22038"),
    ("sql_json_array_not_found", b"22039"),
    ("sql_json_member_not_found", b"2203A"),
    ("sql_json_number_not_found", b"2203B"),
    ("sql_json_object_not_found", b"2203C"),
    ("too_many_json_array_elements", b"2203D"),
    ("too_many_json_object_members", b"2203E"),
    ("sql_json_scalar_required", b"2203F"),
    ("sql_json_item_cannot_be_cast_to_target_type", b"2203G"),
    ("integrity_constraint_violation", b"23000"),
    ("restrict_violation", b"23001"),
    ("not_null_violation", b"23502"),
    ("foreign_key_violation", b"23503"),
    ("unique_violation", b"23505"),
    ("check_violation", b"23514"),
    ("exclusion_violation", b"23P01"),
    ("invalid_cursor_state", b"24000"),
    ("invalid_transaction_state", b"25000"),
    ("active_sql_transaction", b"25001"),
    ("branch_transaction_already_active", b"25002"),
    ("held_cursor_requires_same_isolation_level", b"25008"),
    ("inappropriate_access_mode_for_branch_transaction", b"25003"),
    ("inappropriate_isolation_level_for_branch_transaction", b"25004"),
    ("no_active_sql_transaction_for_branch_transaction", b"25005"),
    ("read_only_sql_transaction", b"25006"),
    ("schema_and_data_statement_mixing_not_supported", b"25007"),
    ("no_active_sql_transaction", b"25P01"),
    ("in_failed_sql_transaction", b"25P02"),
    ("idle_in_transaction_session_timeout", b"25P03"),
    ("invalid_sql_statement_name", b"26000"),
    ("triggered_data_change_violation", b"27000"),
    ("invalid_authorization_specification", b"28000"),
    ("invalid_password", b"28P01"),
    ("dependent_privilege_descriptors_still_exist", b"2B000"),
    ("dependent_objects_still_exist", b"2BP01"),
    ("invalid_transaction_termination", b"2D000"),
    ("sql_routine_exception", b"2F000"),
    ("function_executed_no_return_statement", b"2F005"),
    ("modifying_sql_data_not_permitted", b"2F002"),
    ("prohibited_sql_statement_attempted", b"2F003"),
    ("reading_sql_data_not_permitted", b"2F004"),
    ("invalid_cursor_name", b"34000"),
    ("external_routine_exception", b"38000"),
    ("containing_sql_not_permitted", b"38001"),
    ("modifying_sql_data_not_permitted", b"38002"),
    ("prohibited_sql_statement_attempted", b"38003"),
    ("reading_sql_data_not_permitted", b"38004"),
    ("external_routine_invocation_exception", b"39000"),
    ("invalid_sqlstate_returned", b"39001"),
    ("null_value_not_allowed", b"39004"),
    ("trigger_protocol_violated", b"39P01"),
    ("srf_protocol_violated", b"39P02"),
    ("event_trigger_protocol_violated", b"39P03"),
    ("savepoint_exception", b"3B000"),
    ("invalid_savepoint_specification", b"3B001"),
    ("invalid_catalog_name", b"3D000"),
    ("invalid_schema_name", b"3F000"),
    ("transaction_rollback", b"40000"),
    ("transaction_integrity_constraint_violation", b"40002"),
    ("serialization_failure", b"40001"),
    ("statement_completion_unknown", b"40003"),
    ("deadlock_detected", b"40P01"),
    ("syntax_error_or_access_rule_violation", b"42000"),
    ("syntax_error", b"42601"),
    ("insufficient_privilege", b"42501"),
    ("cannot_coerce", b"42846"),
    ("grouping_error", b"42803"),
    ("windowing_error", b"42P20"),
    ("invalid_recursion", b"42P19"),
    ("invalid_foreign_key", b"42830"),
    ("invalid_name", b"42602"),
    ("name_too_long", b"42622"),
    ("reserved_name", b"42939"),
    ("datatype_mismatch", b"42804"),
    ("indeterminate_datatype", b"42P18"),
    ("collation_mismatch", b"42P21"),
    ("indeterminate_collation", b"42P22"),
    ("wrong_object_type", b"42809"),
    ("generated_always", b"428C9"),
    ("undefined_column", b"42703"),
    ("undefined_function", b"42883"),
    ("undefined_table", b"42P01"),
    ("undefined_parameter", b"42P02"),
    ("undefined_object", b"42704"),
    ("duplicate_column", b"42701"),
    ("duplicate_cursor", b"42P03"),
    ("duplicate_database", b"42P04"),
    ("duplicate_function", b"42723"),
    ("duplicate_prepared_statement", b"42P05"),
    ("duplicate_schema", b"42P06"),
    ("duplicate_table", b"42P07"),
    ("duplicate_alias", b"42712"),
    ("duplicate_object", b"42710"),
    ("ambiguous_column", b"42702"),
    ("ambiguous_function", b"42725"),
    ("ambiguous_parameter", b"42P08"),
    ("ambiguous_alias", b"42P09"),
    ("invalid_column_reference", b"42P10"),
    ("invalid_column_definition", b"42611"),
    ("invalid_cursor_definition", b"42P11"),
    ("invalid_database_definition", b"42P12"),
    ("invalid_function_definition", b"42P13"),
    ("invalid_prepared_statement_definition", b"42P14"),
    ("invalid_schema_definition", b"42P15"),
    ("invalid_table_definition", b"42P16"),
    ("invalid_object_definition", b"42P17"),
    ("with_check_option_violation", b"44000"),
    ("insufficient_resources", b"53000"),
    ("disk_full", b"53100"),
    ("out_of_memory", b"53200"),
    ("too_many_connections", b"53300"),
    ("configuration_limit_exceeded", b"53400"),
    ("program_limit_exceeded", b"54000"),
    ("statement_too_complex", b"54001"),
    ("too_many_columns", b"54011"),
    ("too_many_arguments", b"54023"),
    ("object_not_in_prerequisite_state", b"55000"),
    ("object_in_use", b"55006"),
    ("cant_change_runtime_param", b"55P02"),
    ("lock_not_available", b"55P03"),
    ("unsafe_new_enum_value_usage", b"55P04"),
    ("operator_intervention", b"57000"),
    ("query_canceled", b"57014"),
    ("admin_shutdown", b"57P01"),
    ("crash_shutdown", b"57P02"),
    ("cannot_connect_now", b"57P03"),
    ("database_dropped", b"57P04"),
    ("idle_session_timeout", b"57P05"),
    ("system_error", b"58000"),
    ("io_error", b"58030"),
    ("undefined_file", b"58P01"),
    ("duplicate_file", b"58P02"),
    ("snapshot_too_old", b"72000"),
    ("config_file_error", b"F0000"),
    ("lock_file_exists", b"F0001"),
    ("fdw_error", b"HV000"),
    ("fdw_column_name_not_found", b"HV005"),
    ("fdw_dynamic_parameter_value_needed", b"HV002"),
    ("fdw_function_sequence_error", b"HV010"),
    ("fdw_inconsistent_descriptor_information", b"HV021"),
    ("fdw_invalid_attribute_value", b"HV024"),
    ("fdw_invalid_column_name", b"HV007"),
    ("fdw_invalid_column_number", b"HV008"),
    ("fdw_invalid_data_type", b"HV004"),
    ("fdw_invalid_data_type_descriptors", b"HV006"),
    ("fdw_invalid_descriptor_field_identifier", b"HV091"),
    ("fdw_invalid_handle", b"HV00B"),
    ("fdw_invalid_option_index", b"HV00C"),
    ("fdw_invalid_option_name", b"HV00D"),
    ("fdw_invalid_string_length_or_buffer_length", b"HV090"),
    ("fdw_invalid_string_format", b"HV00A"),
    ("fdw_invalid_use_of_null_pointer", b"HV009"),
    ("fdw_too_many_handles", b"HV014"),
    ("fdw_out_of_memory", b"HV001"),
    ("fdw_no_schemas", b"HV00P"),
    ("fdw_option_name_not_found", b"HV00J"),
    ("fdw_reply_handle", b"HV00K"),
    ("fdw_schema_not_found", b"HV00Q"),
    ("fdw_table_not_found", b"HV00R"),
    ("fdw_unable_to_create_execution", b"HV00L"),
    ("fdw_unable_to_create_reply", b"HV00M"),
    ("fdw_unable_to_establish_connection", b"HV00N"),
    ("plpgsql_error", b"P0000"),
    ("raise_exception", b"P0001"),
    ("no_data_found", b"P0002"),
    ("too_many_rows", b"P0003"),
    ("assert_failure", b"P0004"),
    ("internal_error", b"XX000"),
    ("data_corrupted", b"XX001"),
    ("index_corrupted", b"XX002"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_states_and_classes_are_told_from_states() {
        let state = |code: &[u8; 5]| Condition::State(SqlState(*code));
        assert_eq!(conditions("unique_violation"), [state(b"23505")]);
        assert_eq!(
            conditions("integrity_constraint_violation"),
            [Condition::Class(*b"23")]
        );
        assert_eq!(
            conditions("null_value_not_allowed"),
            [state(b"22004"), state(b"39004")]
        );
        assert_eq!(conditions("P0001"), [state(b"P0001")]);
        assert_eq!(conditions("22000"), [Condition::Class(*b"22")]);
        assert_eq!(conditions("others"), [Condition::Others]);
        assert_eq!(conditions("nobody"), []);
        assert_eq!(
            condition_state("null_value_not_allowed"),
            Some(SqlState(*b"22004"))
        );
        assert_eq!(condition_state("22012"), Some(SqlState::DIVISION_BY_ZERO));
        for wrong in [
            "",
            "2201",
            "22o12",
            "no_such_condition",
            "220123",
            "warning",
        ] {
            assert_eq!(condition_state(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn each_pair_is_there_once() {
        for (number, entry) in CONDITIONS.iter().enumerate() {
            assert!(!CONDITIONS[..number].contains(entry), "{entry:?}");
        }
    }
}
