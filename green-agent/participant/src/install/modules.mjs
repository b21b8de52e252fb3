// Has `import` find packages in NODE_PATH, where only `require` looks: agents are often ES modules.
import * as node from 'node:module';
import { pathToFileURL } from 'node:url';
import { isMainThread } from 'node:worker_threads';

const parentURL = pathToFileURL(process.env.NODE_PATH ?? '').href;
const isPackage = (name) => !/^([./#]|[a-z]+:)/i.test(name);

function sync(name, context, next) {
  try {
    return next(name, context);
  } catch (error) {
    if (!isPackage(name)) throw error;
    try {
      return next(name, { ...context, parentURL });
    } catch {
      throw error;
    }
  }
}

export async function resolve(name, context, next) {
  try {
    return await next(name, context);
  } catch (error) {
    if (!isPackage(name)) throw error;
    return next(name, { ...context, parentURL }).catch(() => Promise.reject(error));
  }
}

// Node before 22.15 resolves in a thread of its own, in which this module is loaded again.
if (node.registerHooks) node.registerHooks({ resolve: sync });
else if (isMainThread) node.register(import.meta.url);
