// SPDX-License-Identifier: Apache-2.0

// Sleeps in a chain of methods of all forms, after a line with V8's own stack trace. A call stands alone on its line.
'use strict';
const word = new Int32Array(new SharedArrayBuffer(4));
class Base {
  static make(n) {
    return new Derived(n).go();
  }
  inherited(f) {
    return f();
  }
  get prop() {
    return this.#priv() / 2 / 1;
  }
  #priv() {
    return this[Symbol.iterator]();
  }
  [Symbol.iterator]() {
    return this['quoted name']();
  }
  'quoted name'() {
    return this.inner();
  }
}
class Derived extends Base {
  constructor(n) {
    super();
    this.n = n;
  }
  go() {
    return this.inherited(() => this.prop);
  }
  inner() {
    const named = new (class Named {
      run() {
        return Unnamed.still();
      }
    })();
    return named.run();
  }
}
const Unnamed = class {
  static still() {
    return new Old().bar();
  }
};
function Old() {}
Old.prototype.bar = function () {
  return object.method();
};
const object = {
  method() {
    return sleep(`${/[{/]/}`);
  },
};
function sleep(text) {
  Error.stackTraceLimit = 100;
  require('fs').writeSync(1, `ready\n${JSON.stringify(new Error(text).stack)}\n`);
  for (;;)
    Atomics.wait(word, 0, 0);
}
Base.make(1);
