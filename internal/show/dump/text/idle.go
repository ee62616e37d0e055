// SPDX-License-Identifier: Apache-2.0

package text

import (
	"maps"
	"slices"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

func byIdleness(l *locks.Locks) (blocked, idle []*locks.Lock) {
	for i := range l.Locks {
		if lock := &l.Locks[i]; len(lock.Blocked()) > 0 {
			blocked = append(blocked, lock)
		} else {
			idle = append(idle, lock)
		}
	}
	return blocked, idle
}

func writeIdle(b *strings.Builder, l *locks.Locks, idle []*locks.Lock) {
	idle = slices.DeleteFunc(idle, func(lock *locks.Lock) bool { return lock.Idle != waits.IdlePool })
	atLock := map[int]bool{}
	for _, lock := range idle {
		for _, tid := range lock.Waiters {
			atLock[tid] = true
		}
	}
	rules := map[string][]int{}
	for _, t := range stacks.ThreadsOf(l.Processes) {
		if w := t.WaitsFor; w != nil && w.Idle != "" && !atLock[t.TID] {
			rules[w.Idle] = append(rules[w.Idle], t.TID)
		}
	}
	if len(idle) == 0 && len(rules) == 0 {
		return
	}
	printable.Fprintf(b, "\nidle, by rule:\n")
	for _, lock := range idle {
		printable.Fprintf(b, "  [idle: %s] %s: %s\n", lock.Idle, lockLabel(lock),
			printable.Raw(shownThreadNames(l, lock.Waiters)))
	}
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		printable.Fprintf(b, "  [idle: %s] %s: %s\n", rule, count(len(rules[rule]), "thread"),
			printable.Raw(shownThreadNames(l, rules[rule])))
	}
}
