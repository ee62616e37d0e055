// SPDX-License-Identifier: Apache-2.0

// Package filememory limits the memory for untrusted files: programs, debug information, perf maps, cores, other tools'
// profiles. A small file can claim, or unpack to, any size.
//
// A reader asks its file's [Account] before it allocates; all share a [Budget]. What is refused is left out, and
// reported in one line.
package filememory

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// DefaultTotal is the limit unless set by the user, in bytes.
	DefaultTotal = 512 << 20
	// totalPerBudget is total ÷ budget. The rest is for prywalk itself, and garbage.
	totalPerBudget = 2
	// An account's most leaves room for other files.
	maxAccountNum, maxAccountDen = 3, 4
)

// Budget limits the memory of untrusted files together, in bytes. It is safe for concurrent use.
type Budget struct {
	limit, used, peak atomic.Int64
	asked             atomic.Bool
	allowed           atomic.Int64 // by [Budget.RaiseFor]
	most              atomic.Int64 // that RaiseFor raises limit to; 0 means unlimited

	mu      sync.Mutex
	refused []string
	more    int
}

// New returns a budget of limit bytes.
func New(limit int64) *Budget {
	b := &Budget{}
	b.limit.Store(limit)
	return b
}

var process = New(DefaultTotal / totalPerBudget)

// Process is the budget of this process, the default.
func Process() *Budget { return process }

// SetTotal sets the user's limit of the whole process.
func (b *Budget) SetTotal(bytes int64) {
	b.limit.Store(bytes / totalPerBudget)
	b.asked.Store(true)
}

// SetMost bounds the limit of the whole process that [Budget.RaiseFor] sets.
func (b *Budget) SetMost(bytes int64) { b.most.Store(bytes / totalPerBudget) }

// RaiseFor raises the limit to the sum of all n, at most to SetMost's, unless the user set one. The user's own files
// need n in proportion to their size.
func (b *Budget) RaiseFor(n int64) {
	sum := b.allowed.Add(n)
	if most := b.most.Load(); most > 0 {
		sum = min(sum, most)
	}
	for now := b.Limit(); sum > now && !b.asked.Load(); now = b.Limit() {
		if b.limit.CompareAndSwap(now, sum) {
			return
		}
	}
}

// Total is the process's limit.
func (b *Budget) Total() int64 { return totalPerBudget * b.limit.Load() }

// Limit is the budget.
func (b *Budget) Limit() int64 { return b.limit.Load() }

// Used is what is taken now.
func (b *Budget) Used() int64 { return b.used.Load() }

// Peak is the most taken at a time.
func (b *Budget) Peak() int64 { return b.peak.Load() }

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

const maxRefused = 4 // listed by name

// refuse lists data that is useless in part first.
func (b *Budget) refuse(what string, whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case slices.Contains(b.refused, what):
	case whole && len(b.refused) == maxRefused:
		b.refused = slices.Insert(b.refused[:maxRefused-1], 0, what)
		b.more++
	case whole:
		b.refused = slices.Insert(b.refused, 0, what)
	case len(b.refused) < maxRefused:
		b.refused = append(b.refused, what)
	default:
		b.more++
	}
}

// Refusals lists in a line what was refused, "" if nothing was.
func (b *Budget) Refusals() string {
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

// Error means that something was left out for lack of memory.
type Error struct {
	What string
	// Need is what the account would have at least.
	Need int64
	// Total is the process's limit.
	Total int64
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s would take %s or more, and files may take half of %s; --max-memory %s allows more", e.What,
		Size(e.Need), Size(e.Total), Size(e.enough()))
}

// enough returns a total that suffices: a power of two.
func (e *Error) enough() int64 {
	need := max(e.Total, totalPerBudget*e.Need/maxAccountNum*maxAccountDen)
	return 1 << bits.Len64(uint64(need))
}

// Size formats a number of bytes as for --max-memory.
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
