// SPDX-License-Identifier: Apache-2.0

package languages

import (
	"path"
	"regexp"
	"strings"
)

var ruby = Language{
	Runtimes: []string{"Ruby"}, Kind: "ruby",
	Hints: []Hint{{
		Runtime: "Ruby", Code: "Ruby methods, run by the interpreter",
		Remedy: "start it with ruby --yjit --yjit-perf (3.3 and later), which names compiled code",
		Files:  regexp.MustCompile(`^(ruby[\d.]*|libruby[\d.-]*\.so.*)$`),
		Since:  [2]int{3, 3}, Version: regexp.MustCompile(`^(?:lib)?ruby-?(\d+)\.(\d+)`),
		Eval: []string{"rb_vm_exec", "vm_exec_core", "vm_exec"},
	}},
	// A method written in C has no file.
	Library: func(_, file string) bool {
		return file == "" || strings.HasPrefix(file, "<internal:") || rubyLibrary.MatchString(file)
	},
	Package: installedIn(regexp.MustCompile(`^.*/gems/([^/]+?)(?:-[0-9][^/]*)?/`)),
	Waits: Waits{
		Forwards: func(label, file string) bool {
			own := file == "" || strings.HasPrefix(file, "<internal:") || path.Base(file) == "monitor.rb"
			return own && rubyForwards[rubyMethod(label)]
		},
		Pooled: func(label, file string) bool {
			loop := rubyPools[fileInDir(file)]
			return loop != "" && loop == rubyMethod(label)
		},
		Acquires: func(label string) bool {
			switch rubyMethod(label) {
			case "lock", "synchronize", "mon_synchronize":
				return true
			}
			return false
		},
		Accepts: func(label, file string) bool {
			loop := rubyAccepts[fileInDir(file)]
			return loop != "" && loop == rubyMethod(label)
		},
	},
	System: System{
		Files:        regexp.MustCompile(`^(libruby.*\.so|ruby[\d.]*$)`),
		LibraryFiles: regexp.MustCompile(`^(libruby|ruby[\d.]*$)`),
		Collects: regexp.MustCompile(
			`^((garbage_collect|gc_(start|marks|sweep|rest))(_\w+)?|rb_gc(_start|_mark\w*)?)(\.|$)`),
	},
}

// The folder is named by the release.
var rubyLibrary = regexp.MustCompile(`/lib/ruby/\d`)

// Methods in C have no file.
var rubyForwards = map[string]bool{
	"sleep": true, "wait": true, "select": true, "wait_for_cond": true, "pop": true, "shift": true, "deq": true,
	"lock": true, "synchronize": true, "mon_synchronize": true, "handle_interrupt": true,
}

// rubyPools are methods, or their blocks, by file.
var rubyPools = map[string]string{
	"puma/thread_pool.rb":                   "spawn_thread",
	"executor/ruby_thread_pool_executor.rb": "create_worker", // concurrent-ruby
}

// by file
var rubyAccepts = map[string]string{
	"puma/server.rb":         "handle_servers",
	"unicorn/http_server.rb": "worker_loop",
	"webrick/server.rb":      "start",
}

// rubyMethod returns the method of a label: "block in Foo#bar".
func rubyMethod(label string) string {
	if _, in, ok := strings.Cut(label, " in "); ok {
		label = in
	}
	if i := strings.LastIndexAny(label, "#.:"); i >= 0 {
		label = label[i+1:]
	}
	return label
}

// installedIn returns the package, the first group of folder, else the file.
func installedIn(folder *regexp.Regexp) func(function, file string) string {
	return func(_, file string) string {
		if m := folder.FindStringSubmatch(file); m != nil {
			return m[1]
		}
		return fileName(file)
	}
}
