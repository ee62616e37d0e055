// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/store/profile"
	"prywalk/report"
)

type fileForm struct {
	flag, usage string
	// clock and lines are set if --value and --lines have an effect.
	clock, lines bool
	write        func(io.Writer, *pprof.Profile, report.Options) error
	file         func(path string, write func(io.Writer) error) error
}

var fileForms = [...]fileForm{
	{"html", "write one self-contained page with a flame graph to this file", true, true,
		report.HTML, profile.WriteFileAtomic},
	{"speedscope", "write a file for speedscope", true, false, report.Speedscope, profile.WriteFileAtomic},
	{"firefox", "write a file for the Firefox Profiler", true, false, report.Firefox, profile.WriteFileAtomic},
	{"perfetto", "write a trace for ui.perfetto.dev: each thread's stacks and states, each process's clocks", false, false,
		report.Perfetto, profile.WriteFileAtomic},
	{"otlp", "write an OpenTelemetry profile (OTLP, v1development, binary protobuf)", false, false,
		report.OTLP, profile.WriteFileAtomic},
	{"pgo", "write a profile for go build -pgo", false, false, report.PGO, profile.WritePGO},
}

func (f *reportFlags) writesFiles() bool { return f.files != [len(fileForms)]string{} }

func (f *reportFlags) writeFiles(p *pprof.Profile) error {
	for i, path := range f.files {
		if path == "" {
			continue
		}
		form := &fileForms[i]
		err := form.file(path, func(w io.Writer) error { return form.write(w, p, f.opts) })
		if err != nil {
			return flagError(form.flag, err)
		}
	}
	return nil
}
