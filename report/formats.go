// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"

	"github.com/google/pprof/profile"

	"prywalk/internal/pprofweb"
	"prywalk/internal/viewers"
	"prywalk/report/options"
)

// Firefox writes the profile for profiler.firefox.com ([viewers.Firefox]).
func Firefox(w io.Writer, p *profile.Profile, o Options) error { return viewers.Firefox(w, p, o) }

// Speedscope writes the profile for speedscope.app ([viewers.Speedscope]).
func Speedscope(w io.Writer, p *profile.Profile, o Options) error { return viewers.Speedscope(w, p, o) }

// OTLP writes the profile as OpenTelemetry's ProfilesData ([viewers.OTLP]).
func OTLP(w io.Writer, p *profile.Profile, o Options) error { return viewers.OTLP(w, p, o) }

// PGO writes the profile for `go build -pgo` ([viewers.PGO]).
func PGO(w io.Writer, p *profile.Profile, o Options) error { return viewers.PGO(w, p, o) }

// HTTPOptions select how a profile is served.
type HTTPOptions = options.HTTP

// ServeHTTP serves pprof's web pages at addr ("localhost:8080"; default: localhost, a free port) until serving fails.
// Requests need the printed address's token. Files are read below [HTTPOptions].Source only.
func ServeHTTP(addr string, p *profile.Profile, o HTTPOptions) error {
	return pprofweb.Serve(addr, p, o)
}
