// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

// fuzzedForms are all forms of a profile.
var fuzzedForms = map[string]form{
	"table": Table, "tree": Tree, "folded": Folded, "html": HTML, "speedscope": Speedscope, "firefox": Firefox,
	"otlp": OTLP, "account": Account,
	"json":      func(w io.Writer, p *profile.Profile, o Options) error { return JSON(w, p, false, o) },
	"json tree": func(w io.Writer, p *profile.Profile, o Options) error { return JSON(w, p, true, o) },
	"callers":   func(w io.Writer, p *profile.Profile, o Options) error { return Callers(w, p, ".", o) },
	"callees":   func(w io.Writer, p *profile.Profile, o Options) error { return Callees(w, p, ".", o) },
	"page with lines": func(w io.Writer, p *profile.Profile, o Options) error {
		o.SourceDir = "."
		return HTML(w, p, o)
	},
	"source": func(w io.Writer, p *profile.Profile, o Options) error { return Source(w, p, ".", o) },
	"diff": func(w io.Writer, p *profile.Profile, o Options) error {
		d, err := Diff(p, p, DiffOptions{Options: o})
		if err != nil {
			return err
		}
		return errors.Join(d.Table(w), d.JSON(w), d.HTML(w))
	},
	"blame": func(w io.Writer, p *profile.Profile, o Options) error {
		p, err := Blame(p, &o)
		if err != nil {
			return err
		}
		return Table(w, p, o)
	},
	"pgo": func(w io.Writer, p *profile.Profile, _ Options) error { return PGO(w, p, Options{}) },
}

// contended has a wait for a lock with an owner.
func contended() *profile.Profile {
	c := newContention()
	c.add(10, "flush", 0, 3e8, "", 0)
	c.add(11, "lock", 1e8, 3e8, "mutex cache", 10)
	return c.p
}

func fuzzedOptions(focus, by string, lines bool) Options {
	return Options{Focus: focus, By: by, Lines: lines, Width: 80, N: 5}
}

func TestSeedsOfTheFuzzTestHaveEachForm(t *testing.T) {
	for name, write := range fuzzedForms {
		var out bytes.Buffer
		p := fixture(t)
		if name == "blame" {
			p = contended()
		}
		if err := write(&out, p, fuzzedOptions("", "", false)); err != nil || out.Len() == 0 {
			t.Errorf("%s: %d bytes, %v", name, out.Len(), err)
		}
	}
}

func FuzzForms(f *testing.F) {
	for _, seed := range []*profile.Profile{fixture(f), contended()} {
		var plain bytes.Buffer
		if err := seed.WriteUncompressed(&plain); err != nil {
			f.Fatal(err)
		}
		f.Add(plain.Bytes(), "", "thread", false)
		f.Add(plain.Bytes(), "w.*", "wait", true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, focus, by string, lines bool) {
		p, err := rec.Read(bytes.NewReader(raw))
		if err != nil {
			return
		}
		for _, write := range fuzzedForms {
			_ = write(io.Discard, p, fuzzedOptions(focus, by, lines))
		}
	})
}
