// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"prywalk/benchmarks/stats"
	"prywalk/internal/host/procmem"
)

type window struct{ from, to int64 }

type look struct {
	before, with, after window
	profile             *profile
	// CPU time of the tool before the window, in it, and after it, s.
	start, cpu, end float64
}

type measured struct {
	tool  *tool
	looks []look
}

func (s *settings) measure(ctx context.Context, e *environment, p *program, k known) (*figures, error) {
	tools := s.toolsFor(p)
	all := make([]measured, 0, len(tools))
	for i := range tools {
		if !s.tools.MatchString(tools[i].String()) {
			continue
		}
		if why := e.lacksTool(s, &tools[i]); why != "" {
			fmt.Fprintf(os.Stderr, "python: %s is left out: %s\n", &tools[i], why)
			continue
		}
		all = append(all, measured{tool: &tools[i]})
	}
	plain, err := e.start(ctx, p)
	if err != nil {
		return nil, err
	}
	defer plain.kill()
	traced, err := e.start(ctx, p, "PYTHONPERFSUPPORT=1")
	if err != nil {
		return nil, err
	}
	defer traced.kill()
	if len(all) == 0 {
		return nil, errors.New("no tool is left")
	}
	plain.resume()
	time.Sleep(2 * time.Second)
	end := time.Now().Add(s.limit)
	rng := rand.New(rand.NewPCG(1, 1))
	for time.Now().Before(end) && ctx.Err() == nil {
		before := s.bare()
		for _, i := range rng.Perm(len(all)) {
			m := &all[i]
			l, err := s.look(ctx, e, m.tool, plain, traced)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.tool, err)
			}
			l.before = before
			before = s.bare()
			l.after = before
			m.looks = append(m.looks, *l)
		}
		fmt.Fprintf(os.Stderr, "python: %s: round %d done\n", p.name, len(all[0].looks))
	}
	time.Sleep(2 * s.window)
	return results(p, all, k, plain, traced), nil
}

func (s *settings) bare() window {
	time.Sleep(s.window / 4)
	from := procmem.Now()
	time.Sleep(s.window)
	return window{from, procmem.Now()}
}

func (s *settings) look(ctx context.Context, e *environment, t *tool, plain, traced *target) (*look, error) {
	target := plain
	if t.trampoline {
		plain.pause()
		traced.resume()
		target = traced
		defer func() { traced.pause(); plain.resume() }()
	}
	out := filepath.Join(e.dir, "recording")
	r, err := s.watch(ctx, e, t, target.cmd.Process.Pid, out)
	if err != nil {
		return nil, err
	}
	l := &look{}
	l.start, l.with.from = r.used(), procmem.Now()
	time.Sleep(s.window)
	l.with.to = procmem.Now()
	l.cpu = r.used() - l.start
	r.end()
	l.end = r.cpu - l.start - l.cpu
	said, err := os.ReadFile(out + ".said")
	if err != nil {
		return nil, err
	}
	if l.profile, err = t.read(out, said); errors.Is(err, os.ErrNotExist) {
		l.profile = &profile{silent: true}
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w; it said: %s", err, lastLine(said))
	}
	return l, nil
}

func results(p *program, all []measured, k known, plain, traced *target) *figures {
	f := &figures{Name: p.name, What: p.what}
	ends := plain.progress()
	tracedEnds := traced.progress()
	var bare []float64
	seen := map[window]bool{}
	for i := range all {
		for _, l := range all[i].looks {
			for _, w := range []window{l.before, l.after} {
				if !seen[w] {
					seen[w] = true
					bare = append(bare, plain.between(w.from, w.to)...)
				}
			}
		}
	}
	slices.Sort(bare)
	f.Answers, f.P999 = len(bare), stats.Quantile(bare, 0.999)/1e6
	top := topLines(all)
	for i := range all {
		m := &all[i]
		r := row{Tool: m.tool.name, Freq: m.tool.freq, N: len(m.looks)}
		var ratios, lengths, starts, finishes []float64
		for _, l := range m.looks {
			from, of := ends, plain
			if m.tool.trampoline {
				from, of = tracedEnds, traced
			}
			without := (rate(ends, l.before.from, l.before.to) + rate(ends, l.after.from, l.after.to)) / 2
			if without > 0 {
				ratios = append(ratios, rate(from, l.with.from, l.with.to)/without)
			}
			lengths = append(lengths, of.between(l.with.from, l.with.to)...)
			r.count(l.profile, k)
			r.CPU += l.cpu / (float64(l.with.to-l.with.from) / 1e9) / float64(len(m.looks))
			starts, finishes = append(starts, l.start), append(finishes, l.end)
		}
		r.Start, r.End = stats.Median(starts), stats.Median(finishes)
		r.Ratio = stats.Median(ratios)
		r.Low, r.High = stats.MedianInterval(ratios)
		slices.Sort(lengths)
		r.Answers, r.P999 = len(lengths), stats.Quantile(lengths, 0.999)/1e6
		r.lines(m, all, top)
		f.Rows = append(f.Rows, r)
	}
	return f
}

func (r *row) count(p *profile, k known) {
	if p.silent {
		r.Silent++
		return
	}
	if p.failed < 0 {
		r.Unsaid = true
	}
	r.Failed += max(p.failed, 0)
	r.Interpreter += p.interpreter
	r.Named += p.named
	for i := range p.stacks {
		s := &p.stacks[i]
		if s.freed {
			r.Freed += s.count
		}
		if len(s.frames) == 0 || s.freed {
			continue
		}
		r.Stacks += s.count
		v, a, b := k.judge(s)
		switch v {
		case cut:
			r.Cut += s.count
		case wrong:
			r.Wrong += s.count
			if r.Calls == nil {
				r.Calls = map[string]float64{}
			}
			if key := a + " -> " + b; len(r.Calls) < 20 || r.Calls[key] > 0 {
				r.Calls[key] += s.count
			}
		}
	}
}
