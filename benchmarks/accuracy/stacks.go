// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"prywalk/benchmarks/machine"
	"prywalk/benchmarks/stats"
	"prywalk/internal/testtargets"
)

type stackRow struct {
	Name     string    `json:"name"`
	Error    string    `json:"error,omitempty"`
	Load     float64   `json:"load"`
	Complete *complete `json:"complete,omitempty"`
}

const (
	browserName   = "chromium"
	sandboxedName = "chromium-sandbox"
)

func stackNames() []string {
	return append(testtargets.Names(), "c-O0", "python-mixed", "node-mixed", "java-mixed", "java-chain", "java-chain-c1",
		"postgres-jit", browserName, sandboxedName)
}

func (b *bench) stacks(ctx context.Context, name string) stackRow {
	ctx, cancel := context.WithTimeout(ctx, measureLimit)
	defer cancel()
	row := stackRow{Name: name}
	r, err := b.recordWhole(ctx, name)
	if err == nil {
		row.Complete = completeness(r)
		r.remove()
		if row.Complete.Running == 0 {
			row.Complete, err = nil, errors.New("no thread was seen to run: its load has ended, or never began")
		}
	}
	if err != nil {
		row.Error = err.Error()
	}
	row.Load = machine.Load()
	return row
}

func (b *bench) recordWhole(ctx context.Context, name string) (*recording, error) {
	if name == browserName || name == sandboxedName {
		c, err := b.browserAtWork(ctx, name == sandboxedName)
		if err != nil {
			return nil, err
		}
		defer c.stop()
		return b.record(ctx, []int{c.pid}, "--children", "-d", b.Duration.String())
	}
	t, err := testtargets.Start(name, testtargets.Options{Limit: measureLimit})
	if err != nil {
		return nil, err
	}
	defer t.Stop()
	if !strings.HasSuffix(name, "-mixed") {
		testtargets.Settle(ctx, name)
	}
	r, err := b.record(ctx, t.PIDs(), "-d", b.Duration.String())
	if err == nil && !alive(t) {
		err = errors.New("the target ended while it was recorded")
	}
	return r, err
}

func (f *figures) addStacks(row stackRow) {
	f.Stacks = slices.DeleteFunc(f.Stacks, func(old stackRow) bool { return old.Name == row.Name })
	f.Stacks = append(f.Stacks, row)
	names := stackNames()
	slices.SortStableFunc(f.Stacks, func(a, b stackRow) int {
		return slices.Index(names, a.Name) - slices.Index(names,
			b.Name)
	})
}

func (r *stackRow) brief() string {
	if r.Error != "" {
		return "failed: " + strings.SplitN(r.Error, "\n", 2)[0]
	}
	c := r.Complete
	return fmt.Sprintf("%s complete, of running threads %s, of %d samples", percent(c.Share(), 3),
		percent(stats.Ratio(c.RunningWhole, c.Running), 3), c.Samples)
}
