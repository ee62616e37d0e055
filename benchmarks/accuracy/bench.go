// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"prywalk/internal/testtargets"
)

type bench struct {
	*settings
	dir    string
	binary string
}

func newBench(s *settings) (*bench, error) {
	dir, err := os.MkdirTemp("", "prywalk-accuracy-")
	if err != nil {
		return nil, err
	}
	b := &bench{settings: s, dir: dir, binary: filepath.Join(dir, "prywalk")}
	if s.Binary != "" {
		if b.binary, err = filepath.Abs(s.Binary); err != nil {
			b.close()
			return nil, err
		}
		return b, nil
	}
	if err := testtargets.BuildPrywalk(b.binary); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) close() { _ = os.RemoveAll(b.dir) }

const measureLimit = 3 * time.Minute

func (b *bench) measure(ctx context.Context, name string) result {
	ctx, cancel := context.WithTimeout(ctx, measureLimit)
	defer cancel()
	switch name {
	case startupName:
		return result{startup: b.startup(ctx)}
	case namingName:
		return result{naming: b.naming(ctx)}
	}
	p := &program{Name: name}
	if err := b.program(ctx, p); err != nil {
		p.Error = err.Error()
	}
	return result{program: p}
}

func (b *bench) program(ctx context.Context, p *program) error {
	t, err := testtargets.Start(p.Name, testtargets.Options{Limit: measureLimit})
	if err != nil {
		return err
	}
	defer t.Stop()
	p.Floor = t.Expect.CompleteFloor
	testtargets.Settle(ctx, t.Name)
	m := startMeter(t.PIDs())
	r, err := b.record(ctx, t.PIDs(), "-d", b.Duration.String())
	m.finish()
	if err != nil {
		return err
	}
	p.Complete = completeness(r)
	p.CPU = compareCPU(r, m)
	if p.Viewers, err = b.viewers(ctx, r); err != nil {
		return err
	}
	if b.Pairs == 0 {
		return nil
	}
	p.Agreement, err = b.agree(ctx, t)
	if err == nil && !alive(t) {
		err = errors.New("the target ended while it was measured")
	}
	return err
}

func alive(t *testtargets.Target) bool {
	select {
	case <-t.Exited():
		return false
	default:
		return true
	}
}
