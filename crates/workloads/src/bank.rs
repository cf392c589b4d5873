//! Bank transfers with identifiers, and the audit of what a crash left of them.
//!
//! Relies on: `rt::Rand`.  Promises: identifiers never repeat between clients; the audit finds a
//! lost, a half-done, a doubled and an invented transfer.  Does not: run transfers or decide which
//! were acknowledged; the client that ran them says so.
//!
//! ```text
//!   accounts   account → balance                 every account starts with the same balance
//!   ledger     identifier → (from, to, amount)   written in the transaction that moves the money
//!
//!   client: attempted ──► acknowledged     must be in the ledger
//!                    └──► no answer        may be in the ledger, whole or not at all
//! ```

use quintet_rt::Rand;
use std::collections::{BTreeMap, BTreeSet};

/// The shape of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankConfig {
    /// Number of accounts, at least two.
    pub accounts: u64,
    /// What each of them holds at the start.
    pub balance: i64,
    /// Largest amount of one transfer.
    pub amount_max: u64,
}

impl Default for BankConfig {
    fn default() -> BankConfig {
        BankConfig {
            accounts: 1000,
            balance: 1000,
            amount_max: 100,
        }
    }
}

/// One movement of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transfer {
    /// Unique in the run: client number above, count below.
    pub id: u64,
    /// Who pays.
    pub from: u64,
    /// Who is paid; never the payer.
    pub to: u64,
    /// How much; at least one. Balances may go below zero.
    pub amount: i64,
}

/// The stream of one client.
#[derive(Clone, Debug)]
pub struct Bank {
    config: BankConfig,
    client: u32,
    count: u32,
    rand: Rand,
}

impl Bank {
    /// A stream; `client` enters the identifiers.
    pub fn new(config: BankConfig, client: u32, seed: u64) -> Bank {
        assert!(config.accounts >= 2, "a transfer needs two accounts");
        assert!(
            config.amount_max > 0,
            "a transfer of nothing leaves no trace"
        );
        let rand = Rand::seeded(seed ^ u64::from(client).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Bank {
            config,
            client,
            count: 0,
            rand,
        }
    }

    /// The next transfer.
    pub fn next_transfer(&mut self) -> Transfer {
        self.count = self
            .count
            .checked_add(1)
            .expect("a run ends before 2^32 transfers of one client");
        let from = self.rand.below(self.config.accounts);
        // A distance of 1..accounts around the circle never comes back to the payer.
        let to = (from + 1 + self.rand.below(self.config.accounts - 1)) % self.config.accounts;
        let amount = 1 + self.rand.below(self.config.amount_max) as i64;
        Transfer {
            id: u64::from(self.client) << 32 | u64::from(self.count),
            from,
            to,
            amount,
        }
    }
}

/// What the database must not show after a crash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// It was acknowledged and is not in the ledger.
    #[error("transfer {} was acknowledged and is lost", .transfer.id)]
    Lost {
        /// What the client was told had happened.
        transfer: Transfer,
    },
    /// The ledger holds something nobody sent, or not as it was sent.
    #[error("transfer {} is in the ledger but was never sent like that", .transfer.id)]
    Invented {
        /// What the ledger holds.
        transfer: Transfer,
    },
    /// An account does not hold what the ledger makes of it: part of a transfer is missing or
    /// came twice.
    #[error("account {account} holds {found}, the ledger makes it {expected}")]
    Balance {
        /// Which account.
        account: u64,
        /// What it holds.
        found: i64,
        /// What it should hold.
        expected: i64,
    },
    /// An account is missing.
    #[error("account {account} is missing")]
    NoAccount {
        /// Which account.
        account: u64,
    },
}

/// What the clients know, against which a recovered database is held.
#[derive(Clone, Debug)]
pub struct Audit {
    config: BankConfig,
    sent: BTreeSet<Transfer>,
    acknowledged: BTreeSet<Transfer>,
}

impl Audit {
    /// Knows nothing yet.
    pub fn new(config: BankConfig) -> Audit {
        Audit {
            config,
            sent: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
        }
    }

    /// A transfer is about to be sent.
    pub fn sent(&mut self, transfer: Transfer) {
        self.sent.insert(transfer);
    }

    /// Its commit was answered.
    pub fn acknowledged(&mut self, transfer: Transfer) {
        assert!(
            self.sent.contains(&transfer),
            "transfer {} acknowledged before it was sent",
            transfer.id
        );
        self.acknowledged.insert(transfer);
    }

    /// How many transfers were acknowledged.
    pub fn acknowledged_count(&self) -> usize {
        self.acknowledged.len()
    }

    /// Holds what the database shows against what is known. Answers how many transfers are there
    /// that were sent but never answered.
    ///
    /// # Errors
    /// Every violation found.
    pub fn check(
        &self,
        balances: &BTreeMap<u64, i64>,
        ledger: &[Transfer],
    ) -> Result<usize, Vec<Violation>> {
        let mut violations = Vec::new();
        let present: BTreeSet<Transfer> = ledger.iter().copied().collect();
        let lost = self.acknowledged.difference(&present);
        violations.extend(lost.map(|transfer| Violation::Lost {
            transfer: *transfer,
        }));
        let invented = present.difference(&self.sent);
        violations.extend(invented.map(|transfer| Violation::Invented {
            transfer: *transfer,
        }));
        let mut expected = vec![self.config.balance; self.config.accounts as usize];
        for transfer in ledger {
            // An invented account number has been reported above.
            let mut add = |account: u64, amount: i64| {
                if let Some(balance) = expected.get_mut(account as usize) {
                    *balance += amount;
                }
            };
            add(transfer.from, -transfer.amount);
            add(transfer.to, transfer.amount);
        }
        for (account, expected) in (0..).zip(expected) {
            match balances.get(&account) {
                None => violations.push(Violation::NoAccount { account }),
                Some(found) if *found != expected => {
                    violations.push(Violation::Balance {
                        account,
                        found: *found,
                        expected,
                    });
                }
                Some(_) => {}
            }
        }
        if violations.is_empty() {
            Ok(present.difference(&self.acknowledged).count())
        } else {
            Err(violations)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: BankConfig = BankConfig {
        accounts: 10,
        balance: 100,
        amount_max: 30,
    };

    /// A hundred transfers of two clients, all run, the last five without an answer.
    fn run() -> (Audit, BTreeMap<u64, i64>, Vec<Transfer>) {
        let mut audit = Audit::new(CONFIG);
        let mut balances: BTreeMap<u64, i64> = (0..CONFIG.accounts)
            .map(|account| (account, CONFIG.balance))
            .collect();
        let mut ledger = Vec::new();
        let mut clients = [Bank::new(CONFIG, 0, 3), Bank::new(CONFIG, 1, 3)];
        for i in 0..100 {
            let transfer = clients[i % 2].next_transfer();
            audit.sent(transfer);
            if i < 95 {
                audit.acknowledged(transfer);
            }
            *balances.get_mut(&transfer.from).unwrap() -= transfer.amount;
            *balances.get_mut(&transfer.to).unwrap() += transfer.amount;
            ledger.push(transfer);
        }
        (audit, balances, ledger)
    }

    #[test]
    fn a_faithful_database_passes_with_or_without_the_unanswered() {
        let (audit, mut balances, mut ledger) = run();
        assert_eq!(audit.check(&balances, &ledger), Ok(5));
        let undone = ledger.pop().unwrap();
        *balances.get_mut(&undone.from).unwrap() += undone.amount;
        *balances.get_mut(&undone.to).unwrap() -= undone.amount;
        assert_eq!(audit.check(&balances, &ledger), Ok(4));
    }

    // Each planted fault must be found, and named for what it is.
    #[test]
    fn planted_faults_are_found() {
        let (audit, balances, ledger) = run();
        let find =
            |balances: &BTreeMap<u64, i64>, ledger: &[Transfer], is: fn(&Violation) -> bool| {
                let violations = audit.check(balances, ledger).unwrap_err();
                assert!(violations.iter().any(is), "{violations:?}");
            };
        find(&balances, &ledger[1..], |v| {
            matches!(v, Violation::Lost { .. })
        });
        let mut half = balances.clone();
        *half.get_mut(&ledger[0].to).unwrap() -= ledger[0].amount;
        find(&half, &ledger, |v| matches!(v, Violation::Balance { .. }));
        let mut doubled = ledger.clone();
        doubled.push(ledger[0]);
        find(&balances, &doubled, |v| {
            matches!(v, Violation::Balance { .. })
        });
        let mut changed = ledger.clone();
        changed[0].amount += 1;
        find(&balances, &changed, |v| {
            matches!(v, Violation::Invented { .. })
        });
        let mut short = balances.clone();
        short.remove(&3);
        find(&short, &ledger, |v| {
            matches!(v, Violation::NoAccount { account: 3 })
        });
    }

    #[test]
    fn transfers_have_two_accounts_and_their_own_identifier() {
        let mut ids = BTreeSet::new();
        for client in 0..3 {
            let mut bank = Bank::new(CONFIG, client, 1);
            for _ in 0..1000 {
                let transfer = bank.next_transfer();
                assert!(transfer.from != transfer.to && transfer.to < CONFIG.accounts);
                assert!((1..=CONFIG.amount_max as i64).contains(&transfer.amount));
                assert!(ids.insert(transfer.id));
            }
        }
    }
}
