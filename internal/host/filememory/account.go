// SPDX-License-Identifier: Apache-2.0

package filememory

import "sync/atomic"

// Account is a file's or map's part of a [Budget]. It is safe for concurrent use. [Account.Take] of nil refuses
// nothing.
type Account struct {
	budget *Budget
	name   atomic.Pointer[string]
	used   atomic.Int64
	whole  bool // see Budget.AccountOfWhole
}

// Account opens an account in b, or in the process's budget if b is nil.
func (b *Budget) Account(name string) *Account {
	if b == nil {
		b = process
	}
	a := &Account{budget: b}
	a.Rename(name)
	return a
}

// AccountOfWhole opens an account that may take the whole budget, for data that is useless in part.
func (b *Budget) AccountOfWhole(name string) *Account {
	a := b.Account(name)
	a.whole = true
	return a
}

func (a *Account) maxBytes() int64 {
	if a.whole {
		return a.budget.Limit()
	}
	return a.budget.Limit() / maxAccountDen * maxAccountNum
}

// Left returns the bytes that may still be taken.
func (a *Account) Left() int64 {
	return max(0, min(a.maxBytes()-a.Used(), a.budget.Limit()-a.budget.Used()))
}

// Budget returns the account's budget.
func (a *Account) Budget() *Budget {
	if a == nil {
		return process
	}
	return a.budget
}

// Rename sets the name for messages, such as a path.
func (a *Account) Rename(name string) {
	if a != nil {
		a.name.Store(&name)
	}
}

// Take takes n bytes for a part of the file, before they are allocated. The error is an [*Error].
func (a *Account) Take(n int64, part string) error {
	if a == nil || n <= 0 || a.tryTake(n) {
		return nil
	}
	return a.refuse(n, part)
}

// Refuse reports a part of n bytes as left out, without a try.
func (a *Account) Refuse(n int64, part string) {
	if a != nil {
		_ = a.refuse(n, part)
	}
}

func (a *Account) refuse(n int64, part string) error {
	what := *a.name.Load()
	if !a.whole {
		what = part + " of " + what
	}
	a.budget.refuse(what, a.whole)
	return &Error{What: what, Need: a.Used() + n, Total: a.budget.Total()}
}

// TakeSpare takes n bytes for a cache; false, without a report, if less than half of the budget would be left.
func (a *Account) TakeSpare(n int64) bool {
	return a == nil || a.budget.Used()+n <= a.budget.Limit()/2 && a.tryTake(n)
}

func (a *Account) tryTake(n int64) bool {
	if used := a.used.Add(n); used <= a.maxBytes() && a.budget.take(n) {
		return true
	}
	a.used.Add(-n)
	return false
}

// Give returns n bytes.
func (a *Account) Give(n int64) {
	if a != nil && n > 0 {
		a.used.Add(-n)
		a.budget.used.Add(-n)
	}
}

// Used is the bytes taken.
func (a *Account) Used() int64 {
	if a == nil {
		return 0
	}
	return a.used.Load()
}

// Close returns all bytes.
func (a *Account) Close() {
	if a != nil {
		a.budget.used.Add(-a.used.Swap(0))
	}
}
