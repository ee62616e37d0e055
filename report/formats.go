// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"

	"github.com/google/pprof/profile"

	"prywalk/internal/pprofweb"
	"prywalk/internal/viewers"
	"prywalk/report/options"
)

// Firefox writes the profile for profiler.firefox.com, in its "processed" form: one track for each thread, in order
// of time, weighted by the chosen value. Where the recording holds processor time, the tracks' activity graphs show
// it.
func Firefox(w io.Writer, p *profile.Profile, o Options) error { return viewers.Firefox(w, p, o) }

// Speedscope writes the profile for speedscope.app: one list of weighted samples for each thread, in order of time
// where the profile keeps it.
func Speedscope(w io.Writer, p *profile.Profile, o Options) error { return viewers.Speedscope(w, p, o) }

// PGO writes the profile's processor time in the form that `go build -pgo` takes: samples/count and cpu/nanoseconds,
// without labels. Stacks that did not run and synthetic frames are left out. The count is the time in periods, because
// Go weighs by the first type. Of the options those that choose samples count.
func PGO(w io.Writer, p *profile.Profile, o Options) error { return viewers.PGO(w, p, o) }

// HTTPOptions say how a profile is served.
type HTTPOptions = options.HTTP

// ServeHTTP serves pprof's own web pages for a profile at addr ("localhost:8080"; an empty host means localhost, an
// empty port one that is free). It returns when serving fails. Who asks must show the token that is in the address
// printed, and name this host. No file of this machine is read but below [HTTPOptions].Source, and no disassembler run.
func ServeHTTP(addr string, p *profile.Profile, o HTTPOptions) error {
	return pprofweb.Serve(addr, p, o)
}
