// SPDX-License-Identifier: Apache-2.0

// A shop on Fastify whose requests wait in known ways: fastify.js MODULES UPSTREAM. Its first line is its address.
'use strict';
const { createRequire } = require('module');
const { once, EventEmitter } = require('events');
const from = createRequire(process.argv[2] + '/');
const app = from('fastify')({ logger: false });
const { Pool } = from('undici');
const upstream = `http://${process.argv[3]}`;
const inside = {};

class Mutex {
  #held = false;
  #waiting = [];
  async lock() {
    if (this.#held) await new Promise((go) => this.#waiting.push(go));
    this.#held = true;
  }
  unlock() {
    this.#held = false;
    this.#waiting.shift()?.();
  }
}
const stock = new Mutex();
const bank = new Pool(upstream, { connections: 100 });
const events = new EventEmitter().setMaxListeners(0);

async function askBank() {
  const answer = await bank.request({ path: '/price', method: 'GET' });
  return answer.body.text();
}
async function pay() {
  await stock.lock();
  try {
    return await askBank();
  } finally {
    stock.unlock();
  }
}
async function order() {
  await stock.lock();
  stock.unlock();
  return 'ordered';
}
async function quote(url) {
  const answer = await fetch(url);
  return answer.text();
}
async function price() {
  const [text] = await Promise.all([quote(`${upstream}/price`), Promise.resolve(1)]);
  return text;
}
async function report() {
  await new Promise((done) => setTimeout(done, 3600_000));
  return 'reported';
}
async function subscribe() {
  const [event] = await once(events, 'news');
  return event;
}
async function count(request) {
  inside[request.url] = (inside[request.url] || 0) + 1;
}
app.addHook('preHandler', async (request) => {
  if (request.url !== '/account') await count(request);
});
app.get('/account', async () => inside);
for (const handler of [pay, order, price, report, subscribe]) {
  app.get(`/${handler.name}`, async (request, reply) => {
    const answer = await handler();
    return reply.send(answer);
  });
}
async function main() {
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  require('fs').writeSync(1, new URL(address).host + '\n');
}
main();
