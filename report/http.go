package report

import (
	"fmt"
	"io"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"

	"prywalk/internal/printable"
)

// ServeHTTP serves pprof's own web pages for a profile at addr ("localhost:8080";
// an empty host means localhost, an empty port one that is free). It returns
// when serving fails. Messages of pprof, the address among them, go to log.
// The names are those in the profile: nothing is looked up on this machine.
func ServeHTTP(addr string, p *profile.Profile, log io.Writer) error {
	err := driver.PProf(&driver.Options{
		Fetch:   handOver{p},
		Flagset: &pprofFlags{set: map[string]string{"http": addr, "symbolize": "none", "no_browser": "true"}, out: log},
		UI:      &pprofUI{log},
	})
	if err != nil {
		return fmt.Errorf("serve %s: %w", addr, err)
	}
	return nil
}

// handOver is a driver.Fetcher for a profile in memory.
type handOver struct{ p *profile.Profile }

// Fetch gives a copy, since pprof changes what it shows.
func (h handOver) Fetch(string, time.Duration, time.Duration) (*profile.Profile, string, error) {
	return h.p.Copy(), "", nil
}

// pprofFlags is a driver.FlagSet that gives fixed values instead of a command line.
type pprofFlags struct {
	set map[string]string
	out io.Writer
}

// Bool gives the fixed value.
func (f *pprofFlags) Bool(name string, def bool, _ string) *bool {
	if v, ok := f.set[name]; ok {
		def = v == "true"
	}
	return &def
}

// Int gives the default.
func (f *pprofFlags) Int(_ string, def int, _ string) *int { return &def }

// Float64 gives the default.
func (f *pprofFlags) Float64(_ string, def float64, _ string) *float64 { return &def }

// String gives the fixed value.
func (f *pprofFlags) String(name, def, _ string) *string {
	if v, ok := f.set[name]; ok {
		def = v
	}
	return &def
}

// StringList gives an empty list.
func (f *pprofFlags) StringList(_, _, _ string) *[]*string { return &[]*string{} }

// ExtraUsage is empty: nobody asks for help.
func (f *pprofFlags) ExtraUsage() string { return "" }

// AddExtraUsage is not needed.
func (f *pprofFlags) AddExtraUsage(string) {}

// Parse gives the one source, whose name does not matter.
func (f *pprofFlags) Parse(func()) []string { return []string{"profile"} }

// pprofUI passes messages on and never asks or launches anything.
type pprofUI struct{ out io.Writer }

// ReadLine reports the end of the input.
func (u *pprofUI) ReadLine(string) (string, error) { return "", io.EOF }

// Print writes a message.
func (u *pprofUI) Print(a ...any) { printable.Fprintf(u.out, "%s\n", printable.Line(fmt.Sprint(a...))) }

// PrintErr writes a message.
func (u *pprofUI) PrintErr(a ...any) {
	printable.Fprintf(u.out, "%s\n", printable.Line(fmt.Sprint(a...)))
}

// IsTerminal is false.
func (u *pprofUI) IsTerminal() bool { return false }

// WantBrowser is false.
func (u *pprofUI) WantBrowser() bool { return false }

// SetAutoComplete is not needed.
func (u *pprofUI) SetAutoComplete(func(string) string) {}
