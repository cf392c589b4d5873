//! Records of earlier versions are read.

use super::*;
use crate::records::*;
use quintet_base::SpaceId;

#[test]
fn routines_of_earlier_versions_are_read() {
    let mut record = RoutineRecord {
        id: RoutineId(7),
        schema: "public".into(),
        name: "f".into(),
        text: "CREATE FUNCTION f() …".into(),
        altered: Vec::new(),
    };
    let value = write_routine(&record).unwrap().value.unwrap();
    let mut first = value[..value.len() - 1].to_vec();
    first[0] = VERSION;
    assert_eq!(read_routine(&first).unwrap(), record);
    record.altered.push("ALTER FUNCTION f STRICT".into());
    let value = write_routine(&record).unwrap().value.unwrap();
    assert_eq!(read_routine(&value).unwrap(), record);
    assert!(read_routine(&value[..4]).is_err());
}

#[test]
fn tables_of_earlier_versions_are_read() {
    let record = TableRecord {
        id: TableId(7),
        revision: 1,
        schema: "public".into(),
        name: "t".into(),
        space: SpaceId(9),
        columns: Vec::new(),
        primary_key: None,
        indexes: Vec::new(),
        checks: Vec::new(),
        more: TableMore::default(),
    };
    let value = write_table(&record).unwrap().value.unwrap();
    assert_eq!(read_table(&value).unwrap(), record);
    let mut sixth = value[..value.len() - 1].to_vec();
    sixth[0] = LATE_VERSION;
    assert_eq!(read_table(&sixth).unwrap(), record);
    let mut fifth = value[..value.len() - 3].to_vec();
    fifth[0] = SHOWN_VERSION;
    assert_eq!(read_table(&fifth).unwrap(), record);
    let mut fourth = value[..value.len() - 5].to_vec();
    fourth[0] = UNVALIDATED_VERSION;
    assert_eq!(read_table(&fourth).unwrap(), record);
    let mut third = value[..value.len() - 6].to_vec();
    third[0] = HIDDEN_VERSION;
    assert_eq!(read_table(&third).unwrap(), record);
    let mut second = value[..value.len() - 10].to_vec();
    second[0] = MORE_VERSION;
    assert_eq!(read_table(&second).unwrap(), record);
    let mut first = value[..value.len() - 12].to_vec();
    first[0] = VERSION;
    assert_eq!(read_table(&first).unwrap(), record);
    assert!(read_table(&first[..4]).is_err());
}

#[test]
fn roles_of_earlier_versions_are_read() {
    let mut record = RoleRecord::plain(RoleId(7), "ann");
    let value = write_role(&record).unwrap().value.unwrap();
    let mut first = value[..value.len() - 1].to_vec();
    first[0] = VERSION;
    assert_eq!(read_role(&first).unwrap(), record);
    record.bypass = true;
    let value = write_role(&record).unwrap().value.unwrap();
    assert_eq!(read_role(&value).unwrap(), record);
}

#[test]
fn triggers_and_foreign_keys_of_earlier_versions_are_read() {
    let mut record = TriggerRecord {
        id: 9,
        table: TableId(7),
        name: "t".into(),
        function: RoutineId(8),
        before: false,
        row: true,
        insert: true,
        update: false,
        delete: false,
        columns: vec![1],
        condition: None,
        arguments: vec!["a".into()],
        constraint: true,
        enabled: 'O',
        more: TriggerMore::default(),
    };
    let added = postcard::to_allocvec(&record.more).unwrap().len();
    let value = write_trigger(&record).unwrap().value.unwrap();
    let mut first = value[..value.len() - added].to_vec();
    first[0] = VERSION;
    assert_eq!(read_trigger(&first).unwrap(), record);
    record.more.late = Some(true);
    record.more.new_rows = Some("n".into());
    let value = write_trigger(&record).unwrap().value.unwrap();
    assert_eq!(read_trigger(&value).unwrap(), record);
    let mut record = ForeignKeyRecord {
        id: ConstraintId(9),
        name: "k".into(),
        child: TableId(7),
        columns: vec![0],
        parent: TableId(8),
        parent_columns: vec![0],
        index: None,
        full: false,
        on_delete: 'c',
        on_update: 'a',
        set: Vec::new(),
        deferrable: false,
        deferred: false,
        validated: true,
        off: KeyOff::default(),
    };
    let value = write_foreign_key(&record).unwrap().value.unwrap();
    let mut first = value[..value.len() - 2].to_vec();
    first[0] = VERSION;
    assert_eq!(read_foreign_key(&first).unwrap(), record);
    record.off.parent = true;
    let value = write_foreign_key(&record).unwrap().value.unwrap();
    assert_eq!(read_foreign_key(&value).unwrap(), record);
}

#[test]
fn views_of_earlier_versions_are_read() {
    let record = ViewRecord {
        id: TableId(7),
        schema: "public".into(),
        name: "v".into(),
        path: "public".into(),
        text: "SELECT 1 AS x".into(),
        columns: Vec::new(),
        uses: Vec::new(),
        check: CheckOption::Local,
        options: ViewOptions {
            said: vec![("security_invoker".to_string(), "true".to_string())],
        },
        defaults: vec![(0, "5".to_string())],
    };
    let value = write_view(&record).unwrap().value.unwrap();
    assert_eq!(read_view(&value).unwrap(), record);
    let defaults = postcard::to_allocvec(&record.defaults).unwrap();
    let third = value[1..value.len() - defaults.len()].to_vec();
    let record = ViewRecord {
        defaults: Vec::new(),
        ..record
    };
    let value = write_view(&record).unwrap().value.unwrap();
    assert_eq!(third, value[1..]);
    assert_eq!(read_view(&value).unwrap(), record);
    let options = postcard::to_allocvec(&record.options).unwrap();
    let mut second = value[..value.len() - options.len()].to_vec();
    second[0] = CHECKED_VERSION;
    let before = ViewRecord {
        options: ViewOptions::default(),
        ..record
    };
    assert_eq!(read_view(&second).unwrap(), before);
    let mut first = second[..second.len() - 1].to_vec();
    first[0] = VERSION;
    let before = ViewRecord {
        check: CheckOption::None,
        ..before
    };
    assert_eq!(read_view(&first).unwrap(), before);
}

#[test]
fn records_come_back_and_damage_is_refused() {
    let record = SequenceRecord {
        id: SequenceId(7),
        schema: "public".into(),
        name: "s".into(),
        ty: SqlType::Int8,
        start: 1,
        increment: -1,
        min: i64::MIN,
        max: -1,
        cycle: false,
        owned_by: Some((TableId(3), 1)),
        counter: Some(SequenceId(9)),
        cache: 1,
    };
    let change = write_sequence(&record).unwrap();
    assert_eq!(
        RecordKey::decode(&change.key).unwrap(),
        RecordKey::Sequence(record.id)
    );
    let value = change.value.unwrap();
    assert_eq!(read_sequence(&value).unwrap(), record);
    let mut second = value[..value.len() - 1].to_vec();
    second[0] = COUNTER_VERSION;
    assert_eq!(read_sequence(&second).unwrap(), record);
    // Without a counter of its own it ended two bytes before, and was of the first version.
    let mut first = write_sequence(&SequenceRecord {
        counter: None,
        ..record.clone()
    });
    let first = first.as_mut().unwrap().value.as_mut().unwrap();
    first.truncate(first.len() - 2);
    first[0] = VERSION;
    assert_eq!(
        read_sequence(first).unwrap(),
        SequenceRecord {
            counter: None,
            ..record
        }
    );
    for bad in [&value[..0], &value[..3], &[9, 1, 2][..]] {
        let error = read_sequence(bad).unwrap_err();
        assert_eq!(error.state, SqlState::DATA_CORRUPTED);
    }
    for bad in [&b""[..], b"\x01\0\0", b"\x7f\0\0\0\x01"] {
        assert!(RecordKey::decode(bad).is_err());
    }
}
