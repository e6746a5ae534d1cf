// Bakes in a worker, in an instance of the page's own WebAssembly module. It calls no function of the page's glue code.
async function bake({ module, request }) {
    let exports;
    // Numbers of 32 bits come with a sign.
    const tell = (address, length) => {
        const message = new Uint8Array(exports.memory.buffer, address >>> 0, length >>> 0).slice();
        postMessage(message, [message.buffer]);
    };
    const imports = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
        imports[from] ??= {};
        if (/^__wbg_now_/.test(name)) {
            imports[from][name] = () => performance.now();
        } else if (/radiosity_?tell/i.test(name)) {
            imports[from][name] = tell;
        } else {
            imports[from][name] = () => { throw new Error(`a bake has called ${name}`); };
        }
    }
    ({ exports } = await WebAssembly.instantiate(module, imports));
    for (const part of request) {
        const address = exports.radiosity_add_part(part.length) >>> 0;
        new Uint8Array(exports.memory.buffer, address, part.length).set(part);
    }
    exports.radiosity_bake();
}

// The page hears of errors that nothing catches, but not of those in a promise.
onmessage = ({ data }) => bake(data).catch(error => setTimeout(() => { throw error; }));
