// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/profile"
	"prywalk/report"
)

// outputFile is a flag for the path of a file.
type outputFile string

// String implements pflag.Value.
func (f *outputFile) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *outputFile) Set(path string) error {
	*f = outputFile(path)
	return nil
}

// Type implements pflag.Value.
func (f *outputFile) Type() string { return "FILE" }

// fileForm is a form of report that goes to a file.
type fileForm struct {
	// flag is its flag without the dashes, the file's name; usage is the help.
	flag, usage string
	// clock and lines mean that --value and --lines have an effect on it.
	clock, lines bool
	write        func(io.Writer, *pprof.Profile, report.Options) error
	// file writes a file by a function that writes its text.
	file func(path string, write func(io.Writer) error) error
}

// fileForms are all, in the help's order.
var fileForms = [...]fileForm{
	{"html", "write one self-contained page with a flame graph to this file", true, true,
		report.HTML, profile.WriteFileAtomic},
	{"speedscope", "write a file for speedscope", true, true, report.Speedscope, profile.WriteFileAtomic},
	{"firefox", "write a file for the Firefox Profiler", true, true, report.Firefox, profile.WriteFileAtomic},
	{"otlp", "write an OpenTelemetry profile (OTLP, v1development, binary protobuf)", false, false,
		report.OTLP, profile.WriteFileAtomic},
	{"pgo", "write a profile for go build -pgo", false, false, report.PGO, profile.WritePGO},
}

// writesFiles reports whether a form that goes to a file is asked for.
func (f *reportFlags) writesFiles() bool { return f.files != [len(fileForms)]outputFile{} }

// writeFiles writes the files that are asked for.
func (f *reportFlags) writeFiles(p *pprof.Profile) error {
	for i, path := range f.files {
		if path == "" {
			continue
		}
		form := &fileForms[i]
		if err := form.file(string(path), func(w io.Writer) error { return form.write(w, p, f.opts) }); err != nil {
			return err
		}
	}
	return nil
}

// fileFlags are the flags of forms that go to files.
func fileFlags(which func(*fileForm) bool) (flags []string) {
	for i := range fileForms {
		if which(&fileForms[i]) {
			flags = append(flags, fileForms[i].flag)
		}
	}
	return flags
}

func anyForm(*fileForm) bool { return true }
