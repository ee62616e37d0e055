// SPDX-License-Identifier: Apache-2.0

package pprofweb

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"

	"prywalk/internal/filememory"
	"prywalk/internal/httpserver"
	"prywalk/internal/printable"
	"prywalk/internal/sourcelines"
)

// Options select how a profile is served.
type Options struct {
	// Source is the directory of source files; "": no file is read.
	Source string
	// Log receives messages, among them the address with its token.
	Log io.Writer
}

// Serve serves at addr ("localhost:8080"; default: localhost, a free port) until it fails. A profile's paths and
// addresses are untrusted: no disassembler is run, and no file is read except below o.Source.
func Serve(addr string, p *profile.Profile, o Options) error {
	if err := serve(addr, p, o); err != nil {
		return fmt.Errorf("serve %s: %w", addr, err)
	}
	return nil
}

func serve(addr string, p *profile.Profile, o Options) error {
	const next = "give a free address of this host, such as localhost:8080"
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%w; %s", err, next)
	}
	if host == "" {
		host = "localhost"
	}
	if port == "" {
		port = "0"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return fmt.Errorf("%w; %s", err, next)
	}
	defer l.Close()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	g := newGuard(host, port)
	if g.pages, err = pages(net.JoinHostPort(host, port), p, o); err != nil {
		return err
	}
	printable.Fprintf(o.Log, "Serving the profile on %s\n", g.url())
	return httpserver.New(g, answerWithin, func(line string) { printable.Fprintf(o.Log, "%s\n", line) }).Serve(l)
}

// A page waits for the ones before it.
const answerWithin = 10 * time.Minute

func pages(addr string, p *profile.Profile, o Options) (map[string]http.Handler, error) {
	p, err := mergeTimes(p)
	if err != nil {
		return nil, err
	}
	turns := &serialRenderer{cost: costOf(p)}
	memory := filememory.Process().AccountOfWhole("pprof's pages")
	err = memory.Take(turns.cost, "contents")
	memory.Close()
	if err != nil {
		return nil, err
	}
	var all map[string]http.Handler
	defer withoutSettings()()
	err = driver.PProf(&driver.Options{
		Fetch: inMemory{p},
		Flagset: &pprofFlags{flag.NewFlagSet("pprof", flag.ContinueOnError),
			[]string{"-http", addr, "-symbolize=none", "-no_browser", "profile"}},
		UI:            &pprofUI{o.Log},
		Obj:           noTool{},
		Sym:           noSymbols{},
		HTTPTransport: noNetwork{},
		HTTPServer: func(args *driver.HTTPServerArgs) error {
			all = args.Handlers
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	for path, page := range all {
		all[path] = turns.withinBudget(path, page)
	}
	all["/disasm"] = forbidden("There is no disassembly here: it would run a program on a file that the profile names.")
	all["/source"] = forbidden("No source files are shown unless their directory is given: prywalk report --http ADDR " +
		"--source-dir DIR")
	all["/saveconfig"] = forbidden("Settings are not saved here: pprof's settings file is neither read nor written.")
	all["/deleteconfig"] = all["/saveconfig"]
	if o.Source != "" {
		all["/source"] = turns.withinBudget("/source", &sources{profile: p, files: sourcelines.Files{Dir: o.Source}})
	}
	return all, nil
}

// withoutSettings hides pprof's settings file, for which it has no option.
func withoutSettings() (restore func()) {
	const name = "XDG_CONFIG_HOME" // os.UserConfigDir
	old, had := os.LookupEnv(name)
	_ = os.Setenv(name, os.DevNull)
	return func() {
		if had {
			_ = os.Setenv(name, old)
		} else {
			_ = os.Unsetenv(name)
		}
	}
}

func forbidden(why string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, why, http.StatusForbidden) })
}

var errNotHere = errors.New("report --http reads no files and makes no connections")

type noTool struct{}

// Open fails.
func (noTool) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errNotHere
}

// Disasm fails.
func (noTool) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) { return nil, errNotHere }

type noSymbols struct{}

// Symbolize does nothing.
func (noSymbols) Symbolize(string, driver.MappingSources, *profile.Profile) error { return nil }

type noNetwork struct{}

// RoundTrip fails.
func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNotHere }

type inMemory struct{ p *profile.Profile }

// Fetch returns a copy, since pprof changes it.
func (h inMemory) Fetch(string, time.Duration, time.Duration) (*profile.Profile, string, error) {
	return h.p.Copy(), "", nil
}

type pprofFlags struct {
	*flag.FlagSet
	args []string
}

// StringList returns an empty list.
func (f *pprofFlags) StringList(_, _, _ string) *[]*string { return &[]*string{} }

// ExtraUsage is empty.
func (f *pprofFlags) ExtraUsage() string { return "" }

// AddExtraUsage does nothing.
func (f *pprofFlags) AddExtraUsage(string) {}

// Parse parses the arguments, and returns the sources among them.
func (f *pprofFlags) Parse(func()) []string {
	_ = f.FlagSet.Parse(f.args) // all are pprof's flags
	return f.Args()
}

type pprofUI struct{ out io.Writer }

// ReadLine returns io.EOF.
func (u *pprofUI) ReadLine(string) (string, error) { return "", io.EOF }

// Print leaves out the address, which lacks the token.
func (u *pprofUI) Print(a ...any) {
	if text := fmt.Sprint(a...); !strings.HasPrefix(text, "Serving web UI on") {
		printable.Fprintf(u.out, "%s\n", printable.Line(text))
	}
}

// PrintErr writes a message.
func (u *pprofUI) PrintErr(a ...any) {
	printable.Fprintf(u.out, "%s\n", printable.Line(fmt.Sprint(a...)))
}

// IsTerminal returns false.
func (u *pprofUI) IsTerminal() bool { return false }

// WantBrowser returns false.
func (u *pprofUI) WantBrowser() bool { return false }

// SetAutoComplete does nothing.
func (u *pprofUI) SetAutoComplete(func(string) string) {}
