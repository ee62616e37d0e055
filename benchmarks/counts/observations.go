// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"fmt"
	"maps"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

type values map[string]float64

type reading struct{ calls, copied float64 }

func readCalls() reading {
	return reading{calls: float64(procmem.Calls() - procmem.Waits()), copied: float64(procmem.Copied())}
}

const looksAt = 50

func looks(c *crowd) (v values, err error) {
	v = values{}
	p, err := loadedcode.Open(c.pid)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	procmem.OnOSThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		pool := observe.NewPool(64)
		l := observe.New(ctl, pool, observe.ModeAuto)
		var stop, passive, unchanged values
		if stop, err = stops(l, p.Memory(), pool, c); err != nil {
			return
		}
		if passive, unchanged, err = passiveReads(l, p.Memory(), pool, c); err != nil {
			return
		}
		for name, got := range map[string]values{"stop": stop, "passive read": passive, "unchanged": unchanged} {
			for what, n := range got {
				v[name+" "+what] = n
			}
		}
	})
	return v, err
}

func stops(l *observe.Observer, m *procmem.Memory, pool *observe.Pool, c *crowd) (values, error) {
	budget := procmem.NewFDBudget(64)
	t := observe.NewThread(c.pid, c.burners[0], budget)
	t.Memory = m
	defer t.Close()
	var least values
	end := time.Now().Add(settling)
	for n := 0; n < looksAt; {
		if time.Now().After(end) {
			return nil, fmt.Errorf("only %d looks stopped a running thread in %v", n, settling)
		}
		time.Sleep(time.Millisecond)
		before := readCalls()
		outcome, s, err := l.Begin(t)
		if err != nil {
			return nil, err
		}
		if outcome == observe.Pending {
			_, s, _ = l.Stops.Next(ptrace.Now().Add(2e9))
		}
		after := readCalls()
		if s == nil {
			continue
		}
		if n++; s.How == observe.ByStop && n > 1 {
			least = lower(least, values{"calls": after.calls - before.calls, "bytes": after.copied - before.copied})
		}
		pool.Put(s)
	}
	return least, nil
}

func passiveReads(l *observe.Observer, m *procmem.Memory, pool *observe.Pool, c *crowd) (
	passive, unchanged values, err error) {
	budget := procmem.NewFDBudget(64)
	for _, tid := range c.sleepers {
		t := observe.NewThread(c.pid, tid, budget)
		t.Memory = m
		before := readCalls()
		outcome, s, err := l.Begin(t)
		mid := readCalls()
		if err != nil || outcome != observe.Done {
			t.Close()
			return nil, nil, fmt.Errorf("a sleeper's first look: outcome %d, %w", outcome, err)
		}
		pool.Put(s)
		outcome, _, err = l.Begin(t)
		after := readCalls()
		t.Close()
		if err != nil || outcome != observe.Unchanged {
			return nil, nil, fmt.Errorf("a sleeper's second look: outcome %d, %w", outcome, err)
		}
		passive = lower(passive, values{"calls": mid.calls - before.calls, "bytes": mid.copied - before.copied})
		unchanged = lower(unchanged, values{"calls": after.calls - mid.calls, "bytes": after.copied - mid.copied})
	}
	return passive, unchanged, nil
}

func lower(a, b values) values {
	if a == nil {
		return b
	}
	out := maps.Clone(a)
	for name, n := range b {
		out[name] = min(out[name], n)
	}
	return out
}
