// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/export"
)

// Firefox writes the profile for profiler.firefox.com ([export.Firefox]).
func Firefox(w io.Writer, p *profile.Profile, o Options) error { return export.Firefox(w, p, o) }

// Speedscope writes the profile for speedscope.app ([export.Speedscope]).
func Speedscope(w io.Writer, p *profile.Profile, o Options) error { return export.Speedscope(w, p, o) }

// Perfetto writes a trace for ui.perfetto.dev ([export.Perfetto]).
func Perfetto(w io.Writer, p *profile.Profile, o Options) error { return export.Perfetto(w, p, o) }

// OTLP writes the profile as OpenTelemetry's ProfilesData ([export.OTLP]).
func OTLP(w io.Writer, p *profile.Profile, o Options) error { return export.OTLP(w, p, o) }

// PGO writes the profile for `go build -pgo` ([export.PGO]).
func PGO(w io.Writer, p *profile.Profile, o Options) error { return export.PGO(w, p, o) }
