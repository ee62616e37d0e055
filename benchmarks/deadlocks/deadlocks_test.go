// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"prywalk/internal/show/dump/locks"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/waits"
)

const patience = 4 * time.Minute

func TestContendedServersHaveNoDeadlock(t *testing.T) {
	testtargets.OnlyInAll(t, "starts four servers under contention")
	floors := map[string]func(*tally) bool{
		// The counts are awaited; only a deadlock, of which there are none, is a failure before.
		"redis-contended":    func(l *tally) bool { return l.Waits[waits.Mutex] >= 50 && l.Owned >= 20 },
		"postgres-contended": func(l *tally) bool { return l.Waits[waits.Semaphore] >= 20 },
		"mariadb-contended":  func(l *tally) bool { return l.Waits[waits.Condition] >= 200 && l.Waits[waits.Futex] >= 5 },
		"java-contended":     func(l *tally) bool { return l.Waits[waits.Mutex] >= 50 && l.Owned >= 20 },
	}
	for _, name := range programs {
		t.Run(name, func(t *testing.T) {
			target := testtargets.Run(t, name, testtargets.Options{Limit: patience + 5*time.Minute})
			end := time.Now().Add(patience)
			floor := floors[name]
			got, err := watch(t.Context(), name, target.PIDs, func(l *tally) bool {
				return l.Deadlocks > 0 || l.Looks >= 10 && floor(l) || time.Now().After(end)
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d looks, %d waits (%s), %d with an owner, %d cycles in one look", got.Looks, got.all(), got.kinds(),
				got.Owned, got.Cycles)
			if got.Deadlocks > 0 || !floor(got) {
				t.Errorf("%d deadlocks, of which there are none, in %d looks", got.Deadlocks, got.Looks)
			}
		})
	}
}

func TestTalliesAreCounted(t *testing.T) {
	l := &tally{Waits: map[waits.Kind]int{}}
	l.add(locksOfEach(
		lock{kind: waits.Mutex, waiters: 3, owner: 7}, lock{kind: waits.RWLock, waiters: 2},
		lock{kind: waits.Condition, waiters: 4},
		lock{kind: waits.Condition, waiters: 5, idle: waits.IdlePool}, lock{kind: waits.Semaphore, waiters: 1},
	))
	if l.Looks != 1 || l.all() != 10 || l.Owned != 3 || l.Ownable != 5 ||
		l.kinds() != "condition 4, mutex 3, rwlock 2, semaphore 1" {
		t.Errorf("%+v: %s", l, l.kinds())
	}
}

type lock struct {
	kind    waits.Kind
	idle    string
	waiters int
	owner   int
}

func locksOfEach(made ...lock) *locks.Locks {
	l := &locks.Locks{}
	for _, m := range made {
		wait := waits.Wait{Kind: m.kind, Idleness: waits.Idleness{Idle: m.idle}, Ownership: waits.Ownership{Owner: m.owner}}
		l.Locks = append(l.Locks, locks.Lock{Wait: wait, Waiters: make([]int, m.waiters)})
	}
	return l
}
