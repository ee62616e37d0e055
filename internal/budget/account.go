// SPDX-License-Identifier: Apache-2.0

package budget

import "sync/atomic"

// Account is what one file, or one map, has taken of a budget. It may be used by several goroutines. Nil refuses
// nothing.
type Account struct {
	budget *Budget
	name   atomic.Pointer[string]
	used   atomic.Int64
	whole  bool // nobody else needs much
}

// Account opens an account in a budget; of the process's where b is nil.
func (b *Budget) Account(name string) *Account {
	if b == nil {
		b = process
	}
	a := &Account{budget: b}
	a.Rename(name)
	return a
}

// Whole is Account for what may take all of the budget, and is of no use without all of its parts.
func (b *Budget) Whole(name string) *Account {
	a := b.Account(name)
	a.whole = true
	return a
}

// most is how many bytes the account may take.
func (a *Account) most() int64 {
	if a.whole {
		return a.budget.Limit()
	}
	return a.budget.Limit() / mostDen * mostNum
}

// Left gives how many bytes the account may still take.
func (a *Account) Left() int64 {
	return max(0, min(a.most()-a.Used(), a.budget.Limit()-a.budget.Used()))
}

// Budget gives the budget that the account is in.
func (a *Account) Budget() *Budget {
	if a == nil {
		return process
	}
	return a.budget
}

// Rename says what the account is of, such as a file's path, for messages.
func (a *Account) Rename(name string) {
	if a != nil {
		a.name.Store(&name)
	}
}

// Take takes n bytes, before they are allocated, for a part of what the account is of. The error is an [*Error].
func (a *Account) Take(n int64, part string) error {
	if a == nil || n <= 0 || a.fits(n) {
		return nil
	}
	what := *a.name.Load()
	if !a.whole {
		what = part + " of " + what
	}
	a.budget.refuse(what)
	return &Error{What: what, Need: a.Used() + n, Total: a.budget.Total()}
}

// TakeSpare takes n bytes for what is only faster with it, such as a cache: false if less than half of the budget is
// left. Nothing is noted as left out.
func (a *Account) TakeSpare(n int64) bool {
	return a == nil || a.budget.Used()+n <= a.budget.Limit()/2 && a.fits(n)
}

// fits takes n bytes if they are there.
func (a *Account) fits(n int64) bool {
	if used := a.used.Add(n); used <= a.most() && a.budget.take(n) {
		return true
	}
	a.used.Add(-n)
	return false
}

// Give gives n bytes back.
func (a *Account) Give(n int64) {
	if a != nil && n > 0 {
		a.used.Add(-n)
		a.budget.used.Add(-n)
	}
}

// Used gives the bytes that the account has taken.
func (a *Account) Used() int64 {
	if a == nil {
		return 0
	}
	return a.used.Load()
}

// Close gives everything back.
func (a *Account) Close() {
	if a != nil {
		a.budget.used.Add(-a.used.Swap(0))
	}
}
