// SPDX-License-Identifier: Apache-2.0

package view

import "testing"

func TestLibrariesAreNotTheProgram(t *testing.T) {
	const python, ruby, php, node = "[CPython 3.11.7]", "[Ruby 3.1.2]", "[PHP 8.2.36]", "[Node 20.20.2]"
	for _, c := range []struct {
		name, mapping, source string
		support               bool
	}{
		{"Condition.wait", python, "/usr/lib/python3.11/threading.py", true},
		{"Queue.get", python, "/usr/lib/python3.11/queue.py", true},
		{"_handle_fromlist", python, "<frozen importlib._bootstrap>", true},
		{"execute", python, "/venv/lib/python3.11/site-packages/django/db/utils.py", false},
		{"__init__", python, "/srv/shop.py", false},
		{"get", python, "/srv/queue.py", false},
		{"synchronize", ruby, "", true},
		{"wait", ruby, "/usr/lib/ruby/3.1.0/monitor.rb", true},
		{"call", ruby, "/var/lib/gems/3.1.0/gems/rack-2.2.3/lib/rack/handler.rb", false},
		{"buy", ruby, "/srv/shop.rb", false},
		{"stream_select", php, "", true},
		{"Shop::buy", php, "/srv/shop.php", false},
		{"execSync", node, "node:child_process", true},
		{"handle", node, "/srv/node_modules/express/lib/router.js", false},
		{"node::SyncProcessRunner::Spawn", "/usr/bin/node", "", true},
		{"java.lang.Object.wait", "[HotSpot 17.0.15]", "Object.java", true},
		{"com.shop.Cart.total", "[HotSpot 17.0.15]", "Cart.java", false},
		{"net.(*netFD).Read", "/srv/app", "", true},
		{"camlStdlib__List__iter_261", "/srv/app", "", true},
		{"tokio::runtime::park::CachedParkThread::block_on", "/srv/app", "", true},
		{"std::condition_variable::wait_for<…>", "/srv/app", "", true},
		{"boost::condition_variable::wait", "/srv/app", "", true},
		{"__poll", "/srv/static", "", true},
		{"mq_receive", "/lib/librt.so.1", "", true},
		{"[libc.so.6]", "/lib/libc.so.6", "", true},
		{"[app]", "/srv/app", "", false},
		{"<shop::Items as core::iter::Iterator>::next", "/srv/app", "", false},
		{"serve", "/srv/app", "", false},
	} {
		f := frameOf(c.name, c.mapping, c.source)
		if got := f.IsSupport(); got != c.support {
			t.Errorf("%s in %s of %q: %v", c.name, c.mapping, c.source, got)
		}
	}
}

func TestPackagesOfJavaAreNoOtherLanguages(t *testing.T) {
	const python = "[CPython 3.11.2]"
	for mapping, source := range map[string]string{"[HotSpot 17.0.15]": "Reactor.java", python: "/srv/app.py"} {
		f := frameOf("reactor.run", mapping, source)
		if python := mapping == python; f.IsOwn() != python || f.Installed == python {
			t.Errorf("%s: %+v", mapping, f)
		}
	}
}

func TestTheFrameThatIsMostTheProgramsStandsForAStack(t *testing.T) {
	const python = "[CPython 3.11.7]"
	for want, frames := range map[int][]Frame{
		2: {frameOf("Condition.wait", python, "/usr/lib/python3.11/threading.py"),
			frameOf("Queue.get", python, "/usr/lib/python3.11/queue.py"), frameOf("fetch_answer", python, "/srv/shop.py")},
		1: {frameOf("hrtimer_nanosleep", KernelModule, ""), frameOf("", "/usr/bin/sleep", ""),
			frameOf("__libc_start_main_impl", "/usr/lib/libc.so.6", "../csu/libc-start.c")},
	} {
		if got, _ := (&FrameTable{Frames: frames}).OwnFrame([]int32{0, 1, 2}); got != want {
			t.Errorf("%s stands for the stack", frames[got].DisplayName())
		}
	}
}
