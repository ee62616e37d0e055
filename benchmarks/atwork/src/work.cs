// Text, generic collections, virtual calls, exceptions and numbers, for ever.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using System.Text.RegularExpressions;

abstract class Shape { public abstract double Area(int n); }
class Round : Shape { public override double Area(int n) { return n * 3.14; } }
class Square : Shape {
	public override double Area(int n) {
		if (n % 1000 == 7) throw new InvalidOperationException("seven");
		return n * n;
	}
}

static class Work {
	static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }

	static int Words() {
		var seen = new Dictionary<string, int>();
		for (int i = 0; i < 2000; i++) seen[(i * 7919 % 10007).ToString("x") + "-" + i] = i;
		var order = seen.Keys.OrderBy(w => w[w.Length - 1]).ThenBy(w => w, StringComparer.Ordinal).ToList();
		var all = new StringBuilder();
		foreach (var w in order) if (Regex.IsMatch(w, "(a+|b)+.*9")) all.Append(w.Replace("1", "<1>"));
		return all.Length;
	}

	static double Shapes() {
		double sum = 0;
		for (int i = 0; i < 5000; i++) {
			Shape s = i % 2 == 0 ? (Shape)new Round() : new Square();
			try { sum += s.Area(i); } catch (InvalidOperationException) { sum += 7; }
		}
		return sum;
	}

	static void Main() {
		double sink = 0;
		for (;;) {
			sink += Words() + Shapes() + Fib(20);
			for (int i = 0; i < 20000; i++) sink += Math.Sin(i) * Math.Exp(-i);
		}
	}
}

// SPDX-License-Identifier: Apache-2.0
