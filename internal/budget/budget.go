// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// DefaultTotal is what prywalk as a whole is to keep within unless asked for more, in bytes.
	DefaultTotal = 512 << 20
	// share of the total is for strangers' files: the rest is for prywalk itself, and for garbage.
	share = 2
	// A single account has at most mostNum/mostDen of the budget: one hostile file leaves room for the others.
	mostNum, mostDen = 3, 4
)

// Budget is how much memory strangers' files may take together. It may be used by several goroutines.
type Budget struct {
	limit, used, peak atomic.Int64
	asked             atomic.Bool
	allowed           atomic.Int64 // by [Budget.Allow]

	mu      sync.Mutex
	refused []string
	more    int
}

// New gives a budget of limit bytes.
func New(limit int64) *Budget {
	b := &Budget{}
	b.limit.Store(limit)
	return b
}

var process = New(DefaultTotal / share)

// Process is the budget of this process, for whoever is given no other.
func Process() *Budget { return process }

// SetTotal sets the limit so that a process with this budget is to keep within so many bytes, as its user asks.
func (b *Budget) SetTotal(bytes int64) {
	b.limit.Store(bytes / share)
	b.asked.Store(true)
}

// Allow makes room for n bytes that are in proportion to a file of the user's own: the limit is at least the sum of
// these, unless a limit was asked for.
func (b *Budget) Allow(n int64) {
	sum := b.allowed.Add(n)
	for now := b.Limit(); sum > now && !b.asked.Load(); now = b.Limit() {
		if b.limit.CompareAndSwap(now, sum) {
			return
		}
	}
}

// Total is what the process is to keep within, in bytes.
func (b *Budget) Total() int64 { return share * b.limit.Load() }

// Limit gives the size of the budget, in bytes.
func (b *Budget) Limit() int64 { return b.limit.Load() }

// Used gives the bytes that are taken now.
func (b *Budget) Used() int64 { return b.used.Load() }

// Peak gives the most bytes that were taken at a time.
func (b *Budget) Peak() int64 { return b.peak.Load() }

// take adds n bytes if they fit.
func (b *Budget) take(n int64) bool {
	if now := b.used.Add(n); now > b.limit.Load() {
		b.used.Add(-n)
		return false
	}
	for now := b.used.Load(); ; {
		old := b.peak.Load()
		if now <= old || b.peak.CompareAndSwap(old, now) {
			return true
		}
	}
}

// maxRefused is how many things that were left out are told by name.
const maxRefused = 4

// refuse notes what was left out, once.
func (b *Budget) refuse(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case slices.Contains(b.refused, what):
	case len(b.refused) < maxRefused:
		b.refused = append(b.refused, what)
	default:
		b.more++
	}
}

// LeftOut says in one line what was left out for lack of memory, "" if nothing was.
func (b *Budget) LeftOut() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.refused) == 0 {
		return ""
	}
	list := strings.Join(b.refused, ", ")
	if b.more > 0 {
		list += fmt.Sprintf(" and %d more", b.more)
	}
	return fmt.Sprintf("left out, to keep within %s of memory: %s; --max-memory %s allows more", Size(b.Total()), list,
		Size(2*b.Total()))
}

// Error reports that something was left out because it would take more memory than there is for it.
type Error struct {
	// What was left out.
	What string
	// Need is the bytes that it would take, at least, with what its account has taken before.
	Need int64
	// Total is what the process is to keep within, in bytes.
	Total int64
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s would take %s or more, and files may take half of %s; --max-memory %s allows more", e.What,
		Size(e.Need), Size(e.Total), Size(e.enough()))
}

// enough gives a total that has room for what was left out, as far as is known: the next power of two.
func (e *Error) enough() int64 {
	need := max(e.Total, share*e.Need/mostNum*mostDen)
	return 1 << bits.Len64(uint64(need))
}

// Size writes a number of bytes for people, in the form that --max-memory takes.
func Size(n int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "G"}, {1 << 20, "M"}, {1 << 10, "K"}} {
		if n >= u.bytes && (n%u.bytes == 0 || n >= 10*u.bytes) {
			return fmt.Sprintf("%d%s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprint(n)
}
